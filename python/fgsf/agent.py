"""What acts: networks of one or several policies, with generalised policy improvement over them."""
from __future__ import annotations

import os
from ctypes import byref, c_int, c_void_p
from typing import Any, Callable, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._lib import Buffer, Choice, Config, Rng, Sizes, lib, pointer, vector


class Agent:
    """A trained agent. Made by load, Learner.agent and train; not thread-safe.

    `num_actions`, `num_features`, `state_size`, `num_tasks` are its sizes. An observation is an array
    of state_size numbers, or an integer that stands for its one-hot vector. `encode`, when given, is
    applied to observations first.
    """

    def __init__(self, handle: int, owner: Any = None,
                 encode: Optional[Callable[[Any], ArrayLike]] = None):
        self._handle, self._owner, self.encode = handle, owner, encode
        sizes, width = Sizes(), c_int()
        lib.fgsf_python_agent_sizes(handle, byref(sizes), byref(width))
        self.num_tasks, self.num_actions = sizes.num_tasks, sizes.num_actions
        self.num_features, self.state_size = sizes.num_features, sizes.state_size
        self._width = width.value
        self._state = Buffer(self.state_size)
        self._rng, self._choice = Rng((1, 2, 3, 4)), Choice()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and self._owner is None:
            lib.fgsf_agent_free(self._handle)
            self._handle = None

    def _fill(self, obs: Any) -> int:
        return self._state.fill(obs if self.encode is None else self.encode(obs))

    def rho(self, w: Optional[ArrayLike]) -> Optional[np.ndarray]:
        """The scoring vector of a reward w . phi; None for None."""
        if w is None:
            return None
        weights = vector(w, self.num_features, "w", np.float64)
        rho = np.zeros(self._width, np.float32)
        lib.fgsf_agent_rho_from_weights(self._handle, pointer(weights), pointer(rho))
        return rho

    def act(self, obs: Any, task: int = 0, w: Optional[ArrayLike] = None) -> int:
        """The greedy action of a trained task, or for the reward w . phi, trained on or not."""
        state, rho = self._fill(obs), self.rho(w)
        lib.fgsf_agent_act(self._handle, task, pointer(rho), state, byref(self._rng),
                           byref(self._choice))
        return self._choice.action

    def q(self, obs: Any, task: int = 0, w: Optional[ArrayLike] = None) -> np.ndarray:
        """Q of every policy that acting compares: (policies, actions)."""
        state, rho, count = self._fill(obs), self.rho(w), c_int()
        q = np.zeros((lib.fgsf_agent_num_policies(self._handle), self.num_actions), np.float32)
        lib.fgsf_agent_q(self._handle, task, pointer(rho), state, pointer(q), byref(count))
        return q[:count.value]

    def features(self, obs: Any, policy: int = 0, task: int = 0) -> np.ndarray:
        """What a policy's network represents: (actions, F). F is num_features for psi, 1 for Q."""
        state, x = self._fill(obs), np.zeros((self.num_actions, self._width), np.float32)
        lib.fgsf_agent_features(self._handle, task, policy, state, pointer(x))
        return x

    def save(self, path: "str | os.PathLike[str]", config: Optional[Config] = None) -> None:
        """Writes a policy file for load and for the drivers."""
        memory = config.memory if config else None
        lib.fgsf_agent_save(self._handle, memory, os.fsencode(path))


def load(path: "str | os.PathLike[str]", device: Optional[str] = None,
         encode: Optional[Callable[[Any], ArrayLike]] = None) -> Agent:
    """Loads a policy file (policy.gguf), which acts without its environment."""
    handle = c_void_p()
    name = device.encode() if device else None
    lib.fgsf_agent_load(os.fsencode(path), name, None, byref(handle))
    return Agent(handle.value, encode=encode)
