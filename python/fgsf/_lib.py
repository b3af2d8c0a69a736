"""The shared library: its calls, the few structs that cross, and configurations.

Settings travel as text through fgsf_config_set, so that Python knows no layout of the configuration.
The structs mirrored here are compared with the library's sizes when it is loaded.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import (Structure, c_bool, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint64, c_void_p)
from typing import Any, Mapping, Optional

import numpy as np
from numpy.typing import ArrayLike

TEXT_SIZE = 1024  # FGSF_TEXT_SIZE
STREAM_ENV = 2  # FGSF_STREAM_ENV


class Error(Exception):
    """A call of the library failed; the message is the library's. `status` is its name."""

    def __init__(self, message: str, status: str = "invalid"):
        super().__init__(message)
        self.status = status


class Learned(Structure):
    """What a learning step did; loss and grad_norm are sums over the task's updates."""
    _fields_ = [("updates", c_int), ("task_updates", c_int), ("loss", c_double),
                ("grad_norm", c_double), ("pairs", c_int), ("other_best", c_int),
                ("skipped", c_bool)]

    def __repr__(self) -> str:
        return f"Learned({', '.join(f'{n}={getattr(self, n)}' for n, _ in self._fields_)})"


class Batch(Structure):
    _fields_ = [("pairs", c_int), ("s", c_void_p), ("a", c_void_p), ("y", c_void_p),
                ("s_next", c_void_p), ("a_next", c_void_p), ("discount", c_void_p),
                ("weight", c_void_p), ("present", c_void_p), ("denominator", c_double),
                ("state", c_void_p), ("states", c_int)]


class EnvSpec(Structure):
    _fields_ = [(name, c_int) for name in ("num_tasks", "num_heldout", "num_actions",
                                           "num_features", "state_size", "raw_size", "full_size")]


class Rng(Structure):
    _fields_ = [("s", c_uint64 * 4)]


class Choice(Structure):
    _fields_ = [("policy", c_int), ("action", c_int)]


class Sizes(Structure):
    _fields_ = [(name, c_int32) for name in ("num_tasks", "num_actions", "num_features",
                                             "state_size")]


class Lanes(Structure):
    _fields_ = [("count", c_int32), ("horizon", c_int32)] + [
        (name, c_void_p) for name in ("envs", "rngs", "lengths", "states", "rewards", "features",
                                      "terminated", "truncated", "success")]


MIRRORS = {"learned": Learned, "batch": Batch, "env_spec": EnvSpec, "rng": Rng, "choice": Choice,
           "lanes": Lanes}

# Every call: what it returns and takes. p: pointer, i: int, l: long, d: double, s: text, z: size, v:
# nothing, status: an error is raised. Those made at each step are "quick": the caller checks the
# status and passes ctypes objects that it keeps, which saves most of what a call costs.
_CALLS = """
s fgsf_last_error | s fgsf_status_name i | s fgsf_version | z fgsf_python_size s
status fgsf_envs_register
status fgsf_config_resolve s s s p | status fgsf_config_set p s s s | status fgsf_config_get p s p z
d fgsf_config_epsilon p l
status fgsf_python_learner p p p p p | v fgsf_python_agent_sizes p p p
v fgsf_learner_free p | status fgsf_learner_add_task p | quick fgsf_python_observe
quick fgsf_learner_learn | quick fgsf_learner_act | v fgsf_learner_forget p
p fgsf_learner_agent p | status fgsf_learner_save p s | status fgsf_learner_load p s
status fgsf_agent_save p p s | status fgsf_agent_load s s p p | v fgsf_agent_free p
i fgsf_agent_num_policies p | v fgsf_agent_rho_from_weights p p p
status fgsf_agent_q p i p p p p | status fgsf_agent_features p i i p p
status fgsf_agent_act p i p p p p
status fgsf_python_bellman p p p i z p p p p
status fgsf_env_create p p | v fgsf_env_free p | p fgsf_env_get_spec p | status fgsf_env_set_task p i
v fgsf_env_observe_f64 p p
v fgsf_env_get_state p p | status fgsf_env_set_state p p i | quick fgsf_python_step
"""
_TYPES = {"p": c_void_p, "i": c_int, "l": c_int64, "d": c_double, "s": c_char_p, "z": c_size_t,
          "v": None, "status": c_int, "quick": c_int}


def _load() -> ctypes.CDLL:
    path = os.environ.get("FGSF_PYTHON_LIBRARY") or str(
        pathlib.Path(__file__).parent / "libfgsf_python.so")
    library = ctypes.CDLL(path)
    for line in _CALLS.replace("|", "\n").split("\n"):
        if line.strip():
            result, name, *arguments = line.split()
            function = getattr(library, name)
            function.restype = _TYPES[result]
            if result != "quick":
                function.argtypes = [_TYPES[a] for a in arguments]
            if result == "status":
                function.errcheck = _check
    library.fgsf_rng_make.restype = Rng
    library.fgsf_rng_make.argtypes = [c_uint64, c_uint64]
    return library


def failure(status: int) -> Error:
    """The error of the last call, to be raised."""
    return Error(lib.fgsf_last_error().decode(errors="replace"),
                 lib.fgsf_status_name(status).decode())


def _check(status: int, function: Any, arguments: Any) -> int:
    if status:
        raise failure(status)
    return status


lib = _load()
for _name, _mirror in MIRRORS.items():
    if lib.fgsf_python_size(_name.encode()) != ctypes.sizeof(_mirror):
        raise ImportError(f"fgsf: the library's struct {_name} is not the one this package knows")
lib.fgsf_envs_register()


def version() -> str:
    """The library's version."""
    return lib.fgsf_version().decode()


def pointer(array: Optional[np.ndarray]) -> Optional[int]:
    """The address of an array's first number, or None."""
    return None if array is None else array.ctypes.data


def vector(values: ArrayLike, size: int, what: str, dtype: Any = np.float32) -> np.ndarray:
    """A contiguous array of `size` numbers; another size is an error that names `what`."""
    array = np.ascontiguousarray(values, dtype).reshape(-1)
    if array.size != size:
        raise Error(f"{what}: {array.size} numbers, but {size} are needed")
    return array


class Buffer:
    """A state at a fixed address, which is cheaper than asking numpy for the address of each."""

    def __init__(self, size: int):
        self.array, self.shape = np.zeros(size, np.float32), (size,)
        self.address = c_void_p(self.array.ctypes.data)

    def fill(self, obs: Any) -> c_void_p:
        """Copies an observation in, an integer as its one-hot vector; returns the address."""
        array = self.array
        if type(obs) is np.ndarray and obs.shape == self.shape:
            array[:] = obs
        elif np.ndim(obs) == 0 and array.size > 1:
            index = int(obs)
            if not 0 <= index < array.size:
                raise Error(f"observation {index} is not in [0, {array.size})")
            array[:] = 0.0
            array[index] = 1.0
        else:
            array[:] = vector(obs, array.size, "observation")
        return self.address


def text(value: Any) -> str:
    """A setting's value as the library reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(text(v) for v in value)
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


class Config:
    """A resolved configuration: defaults, then environment, preset and method, then settings.

    Settings are the keys of docs/config.md. As keywords their dot may be an underscore:
    Config(method="dqn", train_gamma=0.99) sets train.gamma.
    """

    def __init__(self, env: str = "", preset: str = "clean", method: str = "fg-sfrql",
                 **settings: Any):
        self.memory = ctypes.create_string_buffer(lib.fgsf_python_size(b"config"))
        lib.fgsf_config_resolve(env.encode(), preset.encode(), method.encode(), self.memory)
        self.update(settings)

    def update(self, settings: Mapping[str, Any]) -> None:
        """Sets every key of a mapping."""
        for key, value in settings.items():
            self[key] = value

    @staticmethod
    def _key(key: str) -> bytes:
        return (key if "." in key else key.replace("_", ".", 1)).encode()

    def __setitem__(self, key: str, value: Any) -> None:
        lib.fgsf_config_set(self.memory, self._key(key), text(value).encode(), b"settings")

    def __getitem__(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(TEXT_SIZE)
        lib.fgsf_config_get(self.memory, self._key(key), buffer, TEXT_SIZE)
        return buffer.value.decode()
