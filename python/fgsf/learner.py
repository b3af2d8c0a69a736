"""A learner for a loop of your own: observe, learn, act."""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int, c_void_p
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._lib import Config, Experience, LearnedStruct, Sizes, lib, pointer, vector
from .agent import Agent, Buffer


class Learned(NamedTuple):
    """What a learning step did; loss and grad_norm are sums over the task's updates."""
    updates: int
    task_updates: int
    loss: float
    grad_norm: float
    pairs: int
    other_best: int
    skipped: bool


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
        self._learned, self._action = LearnedStruct(), c_int()
        self._s, self._next = Buffer(state_size), Buffer(state_size)
        self._phi = Buffer(num_features, "phi")
        self._experience = Experience(self._s.address, self._next.address, self._phi.address)
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
        self._s.fill(s)
        self._next.fill(s_next)
        if phi is None and self.num_features == 1:
            self._phi.array[0] = reward
        else:
            self._phi.fill(np.asarray(reward if phi is None else phi).reshape(-1))
        e = self._experience
        e.reward, e.action, e.task = reward, action, task
        e.terminal, e.truncated = terminal, truncated
        lib.fgsf_learner_observe(self._handle, byref(e))

    def learn(self, task: int = 0) -> Learned:
        """One learning step; nothing happens while fewer transitions than a batch are stored."""
        out = self._learned
        ctypes.memset(byref(out), 0, ctypes.sizeof(out))
        lib.fgsf_learner_learn(self._handle, task, byref(out))
        return Learned(out.updates, out.task_updates, out.loss, out.grad_norm, out.pairs,
                       out.other_best, out.skipped)

    def act(self, s: Any, epsilon: float = 0.0, task: int = 0) -> int:
        """An action: uniform with probability epsilon, else greedy."""
        self._s.fill(s)
        lib.fgsf_learner_act(self._handle, task, self._s.address, epsilon, byref(self._action))
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
