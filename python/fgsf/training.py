"""Training on any environment that speaks Gymnasium or MO-Gymnasium."""
from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from ctypes import c_int64
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._lib import Error, Learned, Path, lib, vector
from .learner import Agent, Encode, Learner
from .runs import table

Features = Optional[Callable[[Any, int, Any, Dict[str, Any]], ArrayLike]]
COLUMNS = ("step", "task", "episode_return", "length", "epsilon", "seconds", "env_seconds", "loss")


class Interrupted(KeyboardInterrupt):
    """Training was interrupted: `agent` and `log` are what there was, `out` holds the state."""

    def __init__(self, agent: Agent, log: Any):
        self.agent, self.log = agent, log


def _plain_bar(steps: Iterable[int], initial: int, total: int, unit: str) -> Iterator[int]:
    """Progress in one line, where tqdm is not installed."""
    for step in steps:
        if step % 100 == 0:
            print(f"\r{step:>9,} / {total:,} {unit}s ", end="", file=sys.stderr)
        yield step
    print(f"\r{total:>9,} / {total:,} {unit}s ", file=sys.stderr)


def _with_bar(first: int, total: int) -> Iterable[int]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = _plain_bar
    return tqdm(range(first, total), initial=first, total=total, unit="step")


def _check(env: Any, features: Features, tasks: List[Any], encode: Encode) -> None:
    actions, space = env.action_space, env.observation_space
    pays_vector = features is None and hasattr(getattr(env, "unwrapped", env), "reward_space")
    if not hasattr(actions, "n") or getattr(actions, "start", 0):
        raise Error(f"action_space: {actions} is not Discrete from 0 on")
    if encode is None and getattr(space, "start", 0):
        raise Error(f"observation_space: {space} does not start at 0; use encode=")
    if pays_vector and not tasks:
        raise Error("the environment pays a vector: give tasks=[w1, ...], its weights")
    if tasks and features is None and not pays_vector:
        raise Error("tasks= needs features= or an environment that pays a vector")


class _Session:
    """A training run: environment, learner, the step they are at, the log, the state on disk."""

    def __init__(self, env: Any, steps: int, features: Features, tasks: List[Any],
                 encode: Encode, out: Optional[Path], settings: Dict[str, Any]):
        _check(env, features, tasks, encode)
        self.env, self.steps, self.features, self.encode = env, steps, features, encode
        self.tasks = [np.asarray(w, np.float64).reshape(-1) for w in tasks]
        self.step, self.seconds, self.env_seconds, self.rows = 0, 0.0, 0.0, []  # type: ignore
        try:
            self._take(*env.reset(seed=settings["seed"]))
        except (TypeError, ValueError):
            raise Error(f"observation_space: {env.observation_space} is not Box or Discrete; "
                        "use encode=") from None
        size = self.state.size if self.state.ndim else int(getattr(env.observation_space, "n", 1))
        self.width = len(self.tasks[0]) if self.tasks else 1
        if features is not None:
            self.width = np.size(features(self.obs, 0, self.obs, self.info))
        self.learner = Learner(size, int(env.action_space.n), self.width, tasks=self.tasks or None,
                               **settings)
        self.out = None if out is None else pathlib.Path(out)
        if self.out is not None and (self.out / "progress.json").exists():
            record = json.loads((self.out / "progress.json").read_text())
            self.learner.load(self.out / record.pop("learner"))
            self.__dict__.update(record)

    def _take(self, obs: Any, info: Dict[str, Any]) -> None:
        self.obs, self.info = obs, info
        self.state = np.array(obs if self.encode is None else self.encode(obs), np.float32)

    def result(self) -> Tuple[Agent, Any]:
        agent = Agent(self.learner.agent._handle, self.learner, self.encode)
        return agent, table(COLUMNS, self.rows)

    def save(self) -> None:
        """The learner first, under a name of its own: the old pair stays whole until the new is."""
        if self.out is None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        name, fresh = f"learner-{self.step}.gguf", self.out / "progress.json.new"
        self.learner.save(self.out / name)
        fresh.write_text(json.dumps({"learner": name, "step": self.step, "seconds": self.seconds,
                                     "env_seconds": self.env_seconds, "rows": self.rows}))
        os.replace(fresh, self.out / "progress.json")
        for old in self.out.glob("learner-*.gguf"):
            if old.name != name:
                old.unlink()

    def _begin_task(self, task: int) -> None:
        """May be interrupted and called again: no step of the task is stored yet."""
        if lib.fgsf_agent_num_policies(self.learner.agent._handle) <= task:
            self.learner.add_task()
        if task and self.learner.config["train.buffer_reset_on_task"] == "true":
            self.learner.forget()

    def _one_step(self, task: int, epsilon: float) -> Tuple[float, bool, Learned]:
        """Acts, observes and learns; returns the reward and whether the episode is over."""
        state, before = self.state, self.obs
        action = self.learner.act(state, epsilon, task)
        started = time.perf_counter()
        obs, paid, terminated, truncated, info = self.env.step(action)
        self.env_seconds += time.perf_counter() - started
        phi = paid if self.features is None else self.features(before, action, obs, info)
        phi = vector(phi, self.width, "features")
        reward = float(self.tasks[task] @ phi) if self.tasks else float(paid)
        self._take(obs, info)
        self.learner.observe(state, action, reward, self.state, terminated, phi, task, truncated)
        self.step += 1
        return reward, bool(terminated or truncated), self.learner.learn(task)

    def run(self, counter: Iterable[int]) -> None:
        """All steps that are left. An episode that a new task or a break cuts gets no row."""
        config, started = self.learner.config, time.perf_counter() - self.seconds
        checkpoint, over = int(config["train.checkpoint_every"]), False
        paid, loss, length, updates = 0.0, 0.0, 0, 0
        for step in counter:
            task = step // self.steps
            if step == task * self.steps:
                self._begin_task(task)
            if over or (step and step == task * self.steps):
                self._take(*self.env.reset())
                paid, loss, length, updates = 0.0, 0.0, 0, 0
            epsilon = lib.fgsf_config_epsilon(config.memory, c_int64(step - task * self.steps))
            reward, over, learned = self._one_step(task, epsilon)
            paid, loss, length = paid + reward, loss + learned.loss, length + 1
            updates += learned.task_updates
            self.seconds = time.perf_counter() - started
            if over:
                self.rows.append([self.step, task, paid, length, epsilon, self.seconds,
                                  self.env_seconds, loss / updates if updates else float("nan")])
            if self.step % checkpoint == 0:
                self.save()
        self.save()


def train(env: Any, method: str = "fg-dqn", steps: int = 10_000, features: Features = None,
          tasks: Optional[Sequence[ArrayLike]] = None, seed: int = 0, out: Optional[Path] = None,
          preset: str = "clean", encode: Encode = None, progress: Optional[bool] = None,
          **settings: Any) -> Tuple[Agent, Any]:
    """Trains `method` on an environment with discrete actions; returns the agent and a log.

    `steps` are taken for each task, one task after the other. `features(obs, action, next_obs, info)`
    returns phi; an environment of MO-Gymnasium pays phi itself. `tasks` are weights: the reward of
    task k is tasks[k] . phi and known to the learner (reward_model="linear_nlms" learns it instead).
    Without features the reward is the only feature, which is what DQN needs. `encode` turns
    observations into vectors; by default arrays are flattened and integers become one-hot. Settings
    are the keys of docs/config.md with an underscore for their first dot: train_gamma=0.99.

    The log has a row for each episode: step (of all tasks), task, episode_return (undiscounted),
    length, epsilon, the seconds so far, those inside the environment, and loss (mean of its updates).
    It is a DataFrame, or without pandas a dict of arrays.

    With `out`, a folder, the state is kept there at each train.checkpoint_every steps and when Ctrl-C
    interrupts (Interrupted is raised); the same call goes on from it with a new episode.
    """
    weights = [] if tasks is None else list(tasks)
    total = steps * max(1, len(weights))
    settings = {"method": method, "preset": preset, "seed": seed, "train.steps_per_task": steps,
                "train.buffer_capacity": max(1, min(200_000, total)), **settings}
    session = _Session(env, steps, features, weights, encode, out, settings)
    shown = sys.stderr.isatty() if progress is None else progress
    try:
        session.run((_with_bar if shown else range)(session.step, total))
    except KeyboardInterrupt:
        session.save()
        raise Interrupted(*session.result()) from None
    return session.result()


def evaluate(agent: Agent, env: Any, episodes: int = 20, task: int = 0,
             w: Optional[ArrayLike] = None, seed: int = 1_000, gamma: float = 1.0) -> np.ndarray:
    """Returns of greedy episodes, (episodes,) or for vector rewards (episodes, features).

    `w` acts for the reward w . phi, trained on or not. Episode i has the seed seed + i.
    """
    returns = []
    for episode in range(episodes):
        (obs, _), total, weight, over = env.reset(seed=seed + episode), 0.0, 1.0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(agent.act(obs, task, w))
            total = total + weight * np.asarray(reward, np.float64)
            weight, over = weight * gamma, terminated or truncated
        returns.append(total)
    return np.array(returns)
