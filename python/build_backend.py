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


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    text, library = (ROOT / "CMakeLists.txt").read_text(), _build_library()
    version = re.search(r"project\(fgsf VERSION ([0-9.]+)", text).group(1)
    tag, info = f"py3-none-linux_{platform.machine()}", f"fgsf-{version}.dist-info"
    files = {f"fgsf/{path.name}": path.read_bytes() for path in sorted((HERE / "fgsf").iterdir())
             if path.suffix == ".py" or path.name == "py.typed"}
    files["fgsf/libfgsf_python.so"] = library.read_bytes()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: fgsf\nVersion: {version}\nSummary: Full-gradient successor "
        "features\nRequires-Python: >=3.9\nRequires-Dist: numpy\n").encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: fgsf\nRoot-Is-Purelib: false\nTag: {tag}\n").encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"fgsf-{version}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # the same bytes at any time
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name
