"""Builds the wheel of fgsf with CMake and the standard library alone, so that nothing is downloaded.

pip calls build_wheel (PEP 517). The shared library is made in build/python of the repository, for any
x86-64 CPU; third_party/setup brings what it needs.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def _version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(fgsf VERSION ([0-9.]+)", text).group(1)


def _build_library() -> pathlib.Path:
    if not (ROOT / "third_party" / "setup").exists():
        raise RuntimeError("fgsf is built inside its repository: pip install ./python")
    build = ROOT / "build" / "python"
    subprocess.run([ROOT / "third_party" / "setup", "--backend", "portable"], check=True)
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DFGSF_PYTHON=ON", "-DFGSF_NATIVE=OFF",
               "-DFGSF_BUILD_TESTS=OFF", "-DFGSF_BUILD_EXPERIMENTS=OFF", "-DFGSF_MPI=OFF"]
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "fgsf_python"], check=True)
    return build / "python" / "libfgsf_python.so"


def _metadata(version: str) -> str:
    return (f"Metadata-Version: 2.1\nName: fgsf\nVersion: {version}\n"
            "Summary: Full-gradient successor features\nRequires-Python: >=3.9\n"
            "Requires-Dist: numpy\n")


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version, library = _version(), _build_library()
    tag = f"py3-none-linux_{platform.machine()}"
    info = f"fgsf-{version}.dist-info"
    files = {f"fgsf/{path.name}": path.read_bytes() for path in sorted((HERE / "fgsf").iterdir())
             if path.suffix == ".py" or path.name == "py.typed"}
    files["fgsf/libfgsf_python.so"] = library.read_bytes()
    files[f"{info}/METADATA"] = _metadata(version).encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: fgsf\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
    record = [f"{name},sha256={_hash(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    name = f"fgsf-{version}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # the same bytes at any time
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("there is no source distribution: the repository is the source")
