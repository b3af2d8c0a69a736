"""Agents, which act, and learners, which make them: observe, learn, act in a loop of your own."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_double, c_int, c_void_p
from typing import Any, Callable, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._lib import Buffer, Choice, Config, Learned, Path, Rng, Sizes, lib, pointer, vector

Encode = Optional[Callable[[Any], ArrayLike]]


class Agent:
    """A trained agent: networks of one or several policies, with generalised policy improvement.

    Made by load, Learner.agent and train; not thread-safe. `num_actions`, `num_features`,
    `state_size`, `num_tasks` are its sizes. An observation is an array of state_size numbers, or an
    integer that stands for its one-hot vector. `encode`, when given, is applied to it first.
    """

    def __init__(self, handle: c_void_p, owner: Any = None, encode: Encode = None):
        self._handle, self._owner, self.encode = handle, owner, encode
        sizes, width = Sizes(), c_int()
        lib.fgsf_python_agent_sizes(handle, byref(sizes), byref(width))
        self.num_tasks, self.num_actions, self.num_features, self.state_size = sizes
        self._width, self._state = width.value, Buffer(self.state_size)
        self._rng, self._choice = Rng(1, 2, 3, 4), Choice()

    def __del__(self) -> None:
        if getattr(self, "_owner", self) is None:
            lib.fgsf_agent_free(self._handle)

    def _fill(self, obs: Any) -> c_void_p:
        return self._state.fill(obs if self.encode is None else self.encode(obs))

    def _rho(self, w: Optional[ArrayLike]) -> Optional[np.ndarray]:
        """The scoring vector of a reward w . phi; None for None."""
        if w is None:
            return None
        weights = vector(w, self.num_features, "w", np.float64)
        rho = np.zeros(self._width, np.float32)
        lib.fgsf_agent_rho_from_weights(self._handle, pointer(weights), pointer(rho))
        return rho

    def act(self, obs: Any, task: int = 0, w: Optional[ArrayLike] = None) -> int:
        """The greedy action of a trained task, or for the reward w . phi, trained on or not."""
        state, rho = self._fill(obs), self._rho(w)
        lib.fgsf_agent_act(self._handle, task, pointer(rho), state, self._rng, self._choice)
        return self._choice[1]

    def q(self, obs: Any, task: int = 0, w: Optional[ArrayLike] = None) -> np.ndarray:
        """Q of every policy that acting compares: (policies, actions)."""
        state, rho, count = self._fill(obs), self._rho(w), c_int()
        q = np.zeros((lib.fgsf_agent_num_policies(self._handle), self.num_actions), np.float32)
        lib.fgsf_agent_q(self._handle, task, pointer(rho), state, pointer(q), byref(count))
        return q[:count.value]

    def features(self, obs: Any, policy: int = 0, task: int = 0) -> np.ndarray:
        """What a policy's network represents: (actions, F). F is num_features for psi, 1 for Q."""
        state, x = self._fill(obs), np.zeros((self.num_actions, self._width), np.float32)
        lib.fgsf_agent_features(self._handle, task, policy, state, pointer(x))
        return x

    def save(self, path: Path, config: Optional[Config] = None) -> None:
        """Writes a policy file for load and for the drivers."""
        lib.fgsf_agent_save(self._handle, config.memory if config else None, os.fsencode(path))


def load(path: Path, device: Optional[str] = None, encode: Encode = None) -> Agent:
    """Loads a policy file (policy.gguf), which acts without its environment."""
    handle = c_void_p()
    lib.fgsf_agent_load(os.fsencode(path), device.encode() if device else None, None, byref(handle))
    return Agent(handle, encode=encode)


class Learner:
    """Learns from transitions, whoever makes them.

        learner = fgsf.Learner(state_size=4, num_actions=2, method="fg-dqn", train_gamma=0.99)
        action = learner.act(s, epsilon=0.1)
        learner.observe(s, action, reward, s_next, terminal)
        learner.learn()

    `method`, `preset` and settings are those of docs/config.md. `tasks` (num_tasks, num_features) are
    the weights of the tasks' rewards, if they are known. Task 0 is there at once; add_task adds one.
    """

    def __init__(self, state_size: int, num_actions: int, num_features: int = 1, num_tasks: int = 1,
                 method: str = "fg-sfrql", preset: str = "clean",
                 tasks: Optional[ArrayLike] = None, **settings: Any):
        self._handle, self._weights = c_void_p(), None
        self.config = Config("", preset, method)
        if tasks is not None:
            num_tasks = len(tasks)  # type: ignore[arg-type]
            self._weights = vector(tasks, num_tasks * num_features, "tasks", np.float64)
            if self.config["representation"] != "q":
                self.config.update({"reward.model": "known"})
        self.config.update({"env.num_tasks": num_tasks, **settings})
        self._tasks = ctypes.create_string_buffer(num_tasks * lib.fgsf_python_size(b"task"))
        sizes = Sizes(num_tasks, num_actions, num_features, state_size)
        lib.fgsf_python_learner(self.config.memory, byref(sizes), pointer(self._weights),
                                self._tasks, byref(self._handle))
        self._s, self._next = Buffer(state_size), Buffer(state_size)
        self.num_features, self._phi = num_features, np.zeros(num_features, np.float32)
        self._to_phi, self._number, self._action = pointer(self._phi), c_double(), c_int()
        self._to_action = byref(self._action)
        self.add_task()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            lib.fgsf_learner_free(self._handle)

    @property
    def agent(self) -> Agent:
        """What acts: for Q values, features and rewards that were never trained on."""
        return Agent(c_void_p(lib.fgsf_learner_agent(self._handle)), self)

    def add_task(self) -> None:
        """Adds the next task, with a policy of its own (a shared DQN: one for all)."""
        lib.fgsf_learner_add_task(self._handle)

    def observe(self, s: Any, action: int, reward: float, s_next: Any, terminal: bool,
                phi: Optional[ArrayLike] = None, task: int = 0, truncated: bool = False) -> None:
        """Stores a transition. Without `phi` the reward is the only feature."""
        to_phi = None
        if phi is not None or self.num_features != 1:
            self._phi[:] = vector(reward if phi is None else phi, self.num_features, "phi")
            to_phi = self._to_phi
        self._number.value = reward
        lib.fgsf_python_observe(self._handle, self._s.fill(s), self._next.fill(s_next), to_phi,
                                self._number, int(action), task, bool(terminal), bool(truncated))

    def learn(self, task: int = 0) -> Learned:
        """One learning step; nothing happens while fewer transitions than a batch are stored."""
        learned = Learned()
        lib.fgsf_learner_learn(self._handle, task, byref(learned))
        return learned

    def act(self, s: Any, epsilon: float = 0.0, task: int = 0) -> int:
        """An action: uniform with probability epsilon, else greedy."""
        self._number.value = epsilon
        lib.fgsf_learner_act(self._handle, task, self._s.fill(s), self._number, self._to_action)
        return self._action.value

    def forget(self) -> None:
        """Drops all stored transitions."""
        lib.fgsf_learner_forget(self._handle)

    def save(self, path: Path) -> None:
        """Writes the whole learner, replay included."""
        lib.fgsf_learner_save(self._handle, os.fsencode(path))

    def load(self, path: Path) -> None:
        """Goes on from a saved learner, bit for bit; only a new one with the same settings can."""
        lib.fgsf_learner_load(self._handle, os.fsencode(path))
