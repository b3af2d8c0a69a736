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

from ._lib import Config, Error, vector
from .agent import Agent, Buffer
from .learner import Learner
from .runs import table

Features = Callable[[Any, int, Any, Dict[str, Any]], ArrayLike]


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
    """A progress bar of one line, for terminals without tqdm."""

    def __init__(self, total: int):
        self.total, self.n, self._shown, self._words = total, 0, 0.0, ""

    def update(self, n: int) -> None:
        self.n += n
        if time.monotonic() - self._shown > 0.5 or self.n == self.total:
            self._shown = time.monotonic()
            print(f"\r{self.n:>9,} / {self.total:,} steps {self._words}", end="", file=sys.stderr)

    def set_postfix_str(self, words: str, refresh: bool = False) -> None:
        self._words = words

    def close(self) -> None:
        print(file=sys.stderr)


def _progress_bar(progress: Optional[bool], total: int, done: int) -> Any:
    if not (sys.stderr.isatty() if progress is None else progress):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        bar: Any = _Plain(total)
    else:
        bar = tqdm(total=total, unit="step")
    bar.update(done)
    return bar


def _size(space: Any, sample: Any, encode: Optional[Callable[[Any], ArrayLike]]) -> int:
    """The numbers in a state: n of a Discrete space, else those of an observation."""
    if encode is not None:
        return int(np.size(encode(sample)))
    if hasattr(space, "n") and np.ndim(sample) == 0:
        if getattr(space, "start", 0) != 0:
            raise Error("observation_space: a Discrete space must start at 0; use encode=")
        return int(space.n)
    try:
        return int(np.asarray(sample, np.float32).size)
    except (TypeError, ValueError):
        raise Error(f"observation_space: {space} is not Box or Discrete; use encode=") from None


class _Loop:
    """The environment's side of training: states, features, rewards."""

    def __init__(self, env: Any, features: Optional[Features], tasks: Optional[Sequence[ArrayLike]],
                 encode: Optional[Callable[[Any], ArrayLike]], seed: int):
        space = env.action_space
        if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
            raise Error(f"action_space: {space} is not Discrete from 0 on")
        self.env, self.features, self.encode, self.num_actions = env, features, encode, int(space.n)
        self.obs, info = env.reset(seed=seed)
        self.size = _size(env.observation_space, self.obs, encode)
        self.tasks = None if tasks is None else [np.asarray(w, np.float64).reshape(-1) for w in tasks]
        reward_space = getattr(getattr(env, "unwrapped", env), "reward_space", None)
        self.pays_vector = features is None and reward_space is not None
        if self.tasks:
            self.num_features = len(self.tasks[0])
        elif features is not None:
            first = features(self.obs, 0, self.obs, info)
            self.num_features = int(np.size(first))
        else:
            self.num_features = int(np.prod(reward_space.shape)) if self.pays_vector else 1
        if self.pays_vector and not self.tasks:
            raise Error("the environment pays a vector: give tasks=[w1, ...], its weights")
        if self.tasks and features is None and not self.pays_vector:
            raise Error("tasks= needs features= or an environment that pays a vector")
        self._buffer = Buffer(self.size)
        self.state = self._encode(self.obs)
        self.seconds = 0.0

    def _encode(self, obs: Any) -> np.ndarray:
        self._buffer.fill(obs if self.encode is None else self.encode(obs))
        return self._buffer.array.copy()

    def start(self) -> None:
        self.obs, _ = self.env.reset()
        self.state = self._encode(self.obs)

    def step(self, action: int, task: int) -> Tuple[np.ndarray, np.ndarray, float, np.ndarray, bool,
                                                    bool]:
        """Steps and returns s, phi, reward, s_next, terminated, truncated."""
        started = time.perf_counter()
        obs, paid, terminated, truncated, info = self.env.step(action)
        self.seconds += time.perf_counter() - started
        phi = paid if self.features is None else self.features(self.obs, action, obs, info)
        phi = vector(phi, self.num_features, "features")
        reward = float(self.tasks[task] @ phi) if self.tasks else float(paid)
        s, self.obs, self.state = self.state, obs, self._encode(obs)
        return s, phi, reward, self.state, bool(terminated), bool(truncated)


def _schedule(config: Config) -> Callable[[int], float]:
    """The exploration rate by the steps of a task."""
    start, end = float(config["explore.epsilon"]), float(config["explore.to"])
    if config["explore.schedule"] == "constant":
        return lambda step: start
    over = int(config["explore.over"])
    return lambda step: start + (end - start) * min(1.0, step / over)


def train(env: Any, method: str = "fg-dqn", steps: int = 10_000,
          features: Optional[Features] = None, tasks: Optional[Sequence[ArrayLike]] = None,
          seed: int = 0, out: "str | os.PathLike[str] | None" = None, preset: str = "clean",
          encode: Optional[Callable[[Any], ArrayLike]] = None, progress: Optional[bool] = None,
          **settings: Any) -> Tuple[Agent, Log]:
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
    loop = _Loop(env, features, tasks, encode, seed)
    num_tasks = len(tasks) if tasks is not None else 1
    config = Config("", preset, method)
    config.update({"seed": seed, "train.steps_per_task": steps, "train.buffer_capacity":
                   max(1, min(200_000, steps * num_tasks))})
    if tasks is not None and config["representation"] != "q":
        config["reward.model"] = "known"
    config.update({"env.num_tasks": num_tasks, **settings})
    learner = Learner(loop.size, loop.num_actions, loop.num_features, num_tasks, config=config,
                      tasks=loop.tasks)
    session = _Session(loop, learner, steps, num_tasks, out)
    bar = _progress_bar(progress, steps * num_tasks, session.step)
    try:
        session.run(bar)
    except KeyboardInterrupt:
        session.save()
        raise Interrupted(session.agent(), session.log) from None
    finally:
        if bar is not None:
            bar.close()
    session.save()
    return session.agent(), session.log


class _Session:
    """A training run and its state on disk."""

    def __init__(self, loop: _Loop, learner: Learner, steps: int, num_tasks: int,
                 out: "str | os.PathLike[str] | None"):
        self.loop, self.learner, self.steps, self.total = loop, learner, steps, steps * num_tasks
        self.out = None if out is None else pathlib.Path(out)
        self.step, self.added, self.log = 0, 1, Log()
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            if (self.out / "progress.json").exists():
                self._resume()

    def agent(self) -> Agent:
        agent = self.learner.agent
        agent.encode = self.loop.encode
        return agent

    def save(self) -> None:
        """The learner first, under a name of its own: the old pair stays whole until the new is."""
        if self.out is None:
            return
        name = f"learner-{self.step}.gguf"
        self.learner.save(self.out / name)
        record = {"learner": name, "step": self.step, "added": self.added, "rows": self.log.rows,
                  "seconds": self.log.seconds, "env_seconds": self.loop.seconds}
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
        self.loop.seconds = record["env_seconds"]

    def _begin_task(self, task: int) -> None:
        if task >= self.added:
            self.learner.add_task()
            self.added += 1
            if self.learner.config["train.buffer_reset_on_task"] == "true":
                self.learner.forget()

    def run(self, bar: Any) -> None:
        config, loop, learner = self.learner.config, self.loop, self.learner
        epsilon, checkpoint = _schedule(config), int(config["train.checkpoint_every"])
        started, spent = time.perf_counter(), self.log.seconds
        total = length = updates = 0
        loss, task = 0.0, -1
        while self.step < self.total:
            if task != self.step // self.steps:
                task = self.step // self.steps
                self._begin_task(task)
                if length:  # the episode belongs to the task before
                    loop.start()
                    total = length = updates = 0
                    loss = 0.0
            rate = epsilon(self.step % self.steps)
            action = learner.act(loop.state, rate, task)
            s, phi, reward, s_next, terminated, truncated = loop.step(action, task)
            learner.observe(s, action, reward, s_next, terminated, phi, task, truncated)
            learned = learner.learn(task)
            self.step += 1
            total, length = total + reward, length + 1
            loss, updates = loss + learned.loss, updates + learned.task_updates
            self.log.seconds = spent + time.perf_counter() - started
            self.log.env_seconds = loop.seconds
            if terminated or truncated:
                self.log.rows.append({
                    "step": self.step, "task": task, "episode": len(self.log.rows),
                    "episode_return": total, "length": length, "epsilon": rate,
                    "loss": loss / updates if updates else float("nan")})
                loop.start()
                total = length = updates = 0
                loss = 0.0
            if bar is not None:
                if self.log.rows:
                    bar.set_postfix_str(f"return {self.log.rows[-1]['episode_return']:.3g}",
                                        refresh=False)
                bar.update(1)
            if self.out is not None and self.step % checkpoint == 0 and self.step < self.total:
                self.save()


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
