"""The shared library: its calls, the few structs that cross, and configurations.

Settings travel as text. The sizes of the structs mirrored here are checked when it is loaded.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
from collections import namedtuple
from ctypes import (Structure, c_bool, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint64, c_void_p)
from typing import Any, Mapping, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

Path = Union[str, "os.PathLike[str]"]


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


EnvSpec = namedtuple("EnvSpec", "num_tasks num_heldout num_actions num_features state_size raw_size "
                                "full_size files")

# Structs of equal members: tasks, actions, features and state size; policy and action; two counts and
# nine addresses.
Sizes, Choice, Rng, Lanes, Spec = c_int32 * 4, c_int * 2, c_uint64 * 4, c_int64 * 11, c_int * 8
MIRRORS = {"learned": Learned, "sizes": Sizes, "choice": Choice, "rng": Rng, "lanes": Lanes,
           "env_spec": Spec}

# What a call returns that is not a status.
_RESULTS = {f"fgsf_{name}": kind for kind, names in {
    c_char_p: "last_error status_name version", c_size_t: "python_size", c_double: "config_epsilon",
    c_void_p: "learner_agent env_get_spec", c_int: "agent_num_policies",
    None: "python_agent_sizes python_seed learner_free learner_forget agent_free "
          "agent_rho_from_weights env_free env_get_state"}.items() for name in names.split()}


class _Library(ctypes.CDLL):
    """Every call takes ctypes objects, int or bytes; a status that is an error is raised."""

    def __getattr__(self, name: str) -> Any:
        function = super().__getattr__(name)
        function.restype = _RESULTS.get(name, c_int)
        if name not in _RESULTS:
            function.errcheck = self.check
        return function

    def check(self, status: int, *_: Any) -> None:
        if status:
            raise Error(self.fgsf_last_error().decode(errors="replace"),
                        self.fgsf_status_name(status).decode())


lib = _Library(os.environ.get("FGSF_PYTHON_LIBRARY")
               or str(pathlib.Path(__file__).with_name("libfgsf_python.so")))
for _name, _mirror in MIRRORS.items():
    if lib.fgsf_python_size(_name.encode()) != ctypes.sizeof(_mirror):
        raise ImportError(f"fgsf: the library's struct {_name} is not the one this package knows")
lib.fgsf_envs_register()


def pointer(array: Optional[np.ndarray]) -> Optional[c_void_p]:
    """The address of an array's first number, or None."""
    return None if array is None else c_void_p(array.ctypes.data)


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
            if not 0 <= int(obs) < array.size:
                raise Error(f"observation {obs} is not in [0, {array.size})")
            array[:] = 0.0
            array[int(obs)] = 1.0
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
            lib.fgsf_config_set(self.memory, self._key(key), text(value).encode(), b"settings")

    @staticmethod
    def _key(key: str) -> bytes:
        return (key if "." in key else key.replace("_", ".", 1)).encode()

    def __getitem__(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(1024)  # FGSF_TEXT_SIZE
        lib.fgsf_config_get(self.memory, self._key(key), buffer, c_size_t(1024))
        return buffer.value.decode()
