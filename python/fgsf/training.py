"""Training on any environment that speaks Gymnasium or MO-Gymnasium."""
from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._lib import Config, Error, lib, vector
from .agent import Agent
from .learner import Learner
from .runs import table

Encode = Optional[Callable[[Any], ArrayLike]]
Features = Optional[Callable[[Any, int, Any, Dict[str, Any]], ArrayLike]]


class Interrupted(KeyboardInterrupt):
    """Training was interrupted: `agent` and `log` are what there was, `out` holds the state."""

    def __init__(self, agent: Agent, log: "Log"):
        super().__init__("training was interrupted")
        self.agent, self.log = agent, log


class Log:
    """What happened while training: a row for each episode, with its undiscounted return.

    Columns: step (of all tasks), task, episode, episode_return, length, epsilon, loss (mean over the
    episode's updates). `table()` is a DataFrame, or a dict of arrays without pandas; log["loss"] is
    one column. `seconds` is the time spent, `env_seconds` that of it inside the environment.
    """

    def __init__(self) -> None:
        self.rows: List[Dict[str, Any]] = []
        self.seconds = self.env_seconds = 0.0

    def table(self) -> Any:
        """All rows."""
        return table(self.rows)

    def __getitem__(self, column: str) -> np.ndarray:
        return np.array([row[column] for row in self.rows])

    def __len__(self) -> int:
        return len(self.rows)


class _Plain:
    """A progress bar of one line, where tqdm is not installed."""

    def __init__(self, total: int, **_: Any):
        self.total, self.n, self.shown = total, 0, 0.0

    def update(self, n: int) -> None:
        self.n += n
        if time.monotonic() - self.shown > 0.5 or self.n == self.total:
            self.shown = time.monotonic()
            print(f"\r{self.n:>9,} / {self.total:,} steps ", end="", file=sys.stderr)

    def close(self) -> None:
        print(file=sys.stderr)


def _progress_bar(progress: Optional[bool], total: int) -> Any:
    if not (sys.stderr.isatty() if progress is None else progress):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = _Plain
    return tqdm(total=total, unit="step")


class _World:
    """The environment's side of training: states, features, rewards."""

    def __init__(self, env: Any, features: Features, tasks: Optional[Sequence[ArrayLike]],
                 encode: Encode, seed: int):
        actions, space = env.action_space, env.observation_space
        if not hasattr(actions, "n") or getattr(actions, "start", 0) != 0:
            raise Error(f"action_space: {actions} is not Discrete from 0 on")
        self.env, self.features, self.encode, self.num_actions = env, features, encode, int(actions.n)
        self.tasks = None if tasks is None else [np.asarray(w, np.float64).reshape(-1) for w in tasks]
        self.seconds = 0.0
        try:
            self.reset(seed=seed)
        except (TypeError, ValueError):
            raise Error(f"observation_space: {space} is not Box or Discrete; use encode=") from None
        discrete = self.state.ndim == 0 and hasattr(space, "n")
        if discrete and getattr(space, "start", 0) != 0:
            raise Error("observation_space: a Discrete space must start at 0; use encode=")
        self.size = int(space.n) if discrete else self.state.size
        self._count_features(getattr(getattr(env, "unwrapped", env), "reward_space", None))

    def _count_features(self, reward_space: Any) -> None:
        pays_vector = self.features is None and reward_space is not None
        if pays_vector and not self.tasks:
            raise Error("the environment pays a vector: give tasks=[w1, ...], its weights")
        if self.tasks and self.features is None and not pays_vector:
            raise Error("tasks= needs features= or an environment that pays a vector")
        self.num_features = 1
        if self.tasks:
            self.num_features = len(self.tasks[0])
        elif self.features is not None:
            self.num_features = int(np.size(self.features(self.obs, 0, self.obs, self.info)))

    def _take(self, obs: Any, info: Dict[str, Any]) -> None:
        self.obs, self.info = obs, info
        self.state = np.array(obs if self.encode is None else self.encode(obs), np.float32)

    def reset(self, **seed: int) -> None:
        self._take(*self.env.reset(**seed))

    def step(self, action: int, task: int) -> Tuple[np.ndarray, float, bool, bool]:
        """Steps and returns phi, reward, terminated, truncated."""
        started, before = time.perf_counter(), self.obs
        obs, paid, terminated, truncated, info = self.env.step(action)
        self.seconds += time.perf_counter() - started
        phi = paid if self.features is None else self.features(before, action, obs, info)
        phi = vector(phi, self.num_features, "features")
        self._take(obs, info)
        reward = float(self.tasks[task] @ phi) if self.tasks else float(paid)
        return phi, reward, bool(terminated), bool(truncated)


class _Session:
    """A training run and its state on disk."""

    def __init__(self, world: _World, learner: Learner, steps: int, total: int,
                 out: "str | os.PathLike[str] | None"):
        self.world, self.learner, self.steps, self.total = world, learner, steps, total
        self.out = None if out is None else pathlib.Path(out)
        self.step, self.added, self.log = 0, 1, Log()
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            if (self.out / "progress.json").exists():
                self._resume()

    def agent(self) -> Agent:
        agent = self.learner.agent
        agent.encode = self.world.encode
        return agent

    def save(self) -> None:
        """The learner first, under a name of its own: the old pair stays whole until the new is."""
        if self.out is None:
            return
        name = f"learner-{self.step}.gguf"
        self.learner.save(self.out / name)
        record = {"learner": name, "step": self.step, "added": self.added, "rows": self.log.rows,
                  "seconds": self.log.seconds, "env_seconds": self.world.seconds}
        fresh = self.out / "progress.json.new"
        fresh.write_text(json.dumps(record))
        os.replace(fresh, self.out / "progress.json")
        for old in self.out.glob("learner-*.gguf"):
            if old.name != name:
                old.unlink()

    def _resume(self) -> None:
        record = json.loads((self.out / "progress.json").read_text())
        self.learner.load(self.out / record["learner"])
        self.step, self.added = record["step"], record["added"]
        self.log.rows, self.log.seconds = record["rows"], record["seconds"]
        self.world.seconds = record["env_seconds"]

    def _begin_task(self, task: int) -> None:
        if task >= self.added:
            self.learner.add_task()
            self.added += 1
            if self.learner.config["train.buffer_reset_on_task"] == "true":
                self.learner.forget()

    def run(self, bar: Any) -> None:
        """All steps that are left. An episode that a new task cuts gets no row."""
        world, learner, log, row = self.world, self.learner, self.log, None
        memory, checkpoint = learner.config.memory, int(learner.config["train.checkpoint_every"])
        started, updates = time.perf_counter() - log.seconds, 0
        while self.step < self.total:
            task = self.step // self.steps
            if row is None or row["task"] != task:
                self._begin_task(task)
                if row is not None:
                    world.reset()
                row, updates = {"task": task, "episode": len(log), "episode_return": 0.0, "length": 0,
                                "loss": 0.0}, 0
            epsilon = lib.fgsf_config_epsilon(memory, self.step % self.steps)
            state = world.state
            action = learner.act(state, epsilon, task)
            phi, reward, terminated, truncated = world.step(action, task)
            learner.observe(state, action, reward, world.state, terminated, phi, task, truncated)
            learned = learner.learn(task)
            self.step += 1
            row["episode_return"] += reward
            row["length"] += 1
            row["loss"] += learned.loss
            updates += learned.task_updates
            log.seconds, log.env_seconds = time.perf_counter() - started, world.seconds
            if terminated or truncated:
                mean = row["loss"] / updates if updates else float("nan")
                log.rows.append({"step": self.step, **row, "epsilon": epsilon, "loss": mean})
                world.reset()
                row = None
            if bar is not None:
                bar.update(1)
            if self.out is not None and self.step % checkpoint == 0 and self.step < self.total:
                self.save()


def train(env: Any, method: str = "fg-dqn", steps: int = 10_000, features: Features = None,
          tasks: Optional[Sequence[ArrayLike]] = None, seed: int = 0,
          out: "str | os.PathLike[str] | None" = None, preset: str = "clean", encode: Encode = None,
          progress: Optional[bool] = None, **settings: Any) -> Tuple[Agent, Log]:
    """Trains `method` on an environment with discrete actions; returns the agent and a Log.

    `steps` are taken for each task, one task after the other. `features(obs, action, next_obs, info)`
    returns phi; an environment of MO-Gymnasium pays phi itself. `tasks` are weights: the reward of
    task k is tasks[k] . phi and known to the learner (reward_model="linear_nlms" learns it instead).
    Without features the reward is the only feature, which is what DQN needs. `encode` turns
    observations into vectors; by default arrays are flattened and integers become one-hot.

    Settings are the keys of docs/config.md with their first dot as an underscore: train_gamma=0.99,
    net_hidden=(64, 64). Episodes end where the environment says so.

    With `out`, a folder, the state is kept there at each train.checkpoint_every steps and when Ctrl-C
    interrupts (Interrupted is raised); the same call goes on from it with a new episode.
    """
    world = _World(env, features, tasks, encode, seed)
    num_tasks = len(tasks) if tasks is not None else 1
    total = steps * num_tasks
    config = Config("", preset, method)
    config.update({"seed": seed, "train.steps_per_task": steps,
                   "train.buffer_capacity": max(1, min(200_000, total))})
    if tasks is not None and config["representation"] != "q":
        config["reward.model"] = "known"
    config.update({"env.num_tasks": num_tasks, **settings})
    learner = Learner(world.size, world.num_actions, world.num_features, num_tasks, config=config,
                      tasks=world.tasks)
    session = _Session(world, learner, steps, total, out)
    bar = _progress_bar(progress, total)
    try:
        if bar is not None:
            bar.update(session.step)
        session.run(bar)
        session.save()
    except KeyboardInterrupt:
        session.save()
        raise Interrupted(session.agent(), session.log) from None
    finally:
        if bar is not None:
            bar.close()
    return session.agent(), session.log


def evaluate(agent: Agent, env: Any, episodes: int = 20, task: int = 0,
             w: Optional[ArrayLike] = None, seed: int = 1_000, gamma: float = 1.0) -> np.ndarray:
    """Returns of greedy episodes, (episodes,) or for vector rewards (episodes, features).

    `w` acts for the reward w . phi, trained on or not. Episode i is reset with seed + i; `gamma`
    discounts. An environment must end its episodes.
    """
    returns = []
    for episode in range(episodes):
        obs, _ = env.reset(seed=seed + episode)
        total, weight, over = 0.0, 1.0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(agent.act(obs, task, w))
            total = total + weight * np.asarray(reward, np.float64)
            weight *= gamma
            over = terminated or truncated
        returns.append(total)
    return np.array(returns)
