"""A learner for a loop of your own: observe, learn, act."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_double, c_int, c_void_p
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._lib import Buffer, Config, Learned, Sizes, failure, lib, pointer, vector
from .agent import Agent


class Learner:
    """Learns from transitions, whoever makes them.

        learner = fgsf.Learner(state_size=4, num_actions=2, method="fg-dqn", train_gamma=0.99)
        action = learner.act(s, epsilon=0.1)
        learner.observe(s, action, reward, s_next, terminal)
        learner.learn()

    `method`, `preset` and settings are those of docs/config.md. `tasks` are the weights of the
    tasks' rewards (num_tasks, num_features), where they are known. Task 0 is there at once; add_task
    adds the next.
    """

    def __init__(self, state_size: int, num_actions: int, num_features: int = 1, num_tasks: int = 1,
                 method: str = "fg-sfrql", preset: str = "clean",
                 tasks: Optional[ArrayLike] = None, config: Optional[Config] = None,
                 **settings: Any):
        self._handle = c_void_p()
        self._weights: Optional[np.ndarray] = None
        if tasks is not None:
            num_tasks = len(tasks)  # type: ignore[arg-type]
            self._weights = vector(tasks, num_tasks * num_features, "tasks", np.float64)
        self.config = config or Config("", preset, method)
        self.config.update({"env.num_tasks": num_tasks, **settings})
        self.num_features, self.state_size = num_features, state_size
        self._tasks = ctypes.create_string_buffer(num_tasks * lib.fgsf_python_size(b"task"))
        sizes = Sizes(num_tasks, num_actions, num_features, state_size)
        lib.fgsf_python_learner(self.config.memory, byref(sizes), pointer(self._weights),
                                self._tasks, byref(self._handle))
        self._s, self._next = Buffer(state_size), Buffer(state_size)
        self._phi = np.zeros(num_features, np.float32)
        self._to_phi, self._number, self._action = c_void_p(pointer(self._phi)), c_double(), c_int()
        self._to_action = byref(self._action)
        self.add_task()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.fgsf_learner_free(self._handle)
            self._handle = c_void_p()

    @property
    def agent(self) -> Agent:
        """What acts: for Q values, features and rewards that were never trained on."""
        return Agent(lib.fgsf_learner_agent(self._handle), self)

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
        status = lib.fgsf_python_observe(self._handle, self._s.fill(s), self._next.fill(s_next), to_phi,
                                         self._number, int(action), task, bool(terminal),
                                         bool(truncated))
        if status:
            raise failure(status)

    def learn(self, task: int = 0) -> Learned:
        """One learning step; nothing happens while fewer transitions than a batch are stored."""
        learned = Learned()
        status = lib.fgsf_learner_learn(self._handle, task, byref(learned))
        if status:
            raise failure(status)
        return learned

    def act(self, s: Any, epsilon: float = 0.0, task: int = 0) -> int:
        """An action: uniform with probability epsilon, else greedy."""
        self._number.value = epsilon
        status = lib.fgsf_learner_act(self._handle, task, self._s.fill(s), self._number,
                                      self._to_action)
        if status:
            raise failure(status)
        return self._action.value

    def forget(self) -> None:
        """Drops all stored transitions."""
        lib.fgsf_learner_forget(self._handle)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the whole learner, replay included."""
        lib.fgsf_learner_save(self._handle, os.fsencode(path))

    def load(self, path: "str | os.PathLike[str]") -> None:
        """Goes on from a saved learner, bit for bit; only a new one with the same settings can."""
        lib.fgsf_learner_load(self._handle, os.fsencode(path))
