"""Our environments for Gymnasium and MO-Gymnasium, one at a time or many at once.

`import fgsf` registers fgsf/FourRooms-v0, fgsf/MOFourRooms-v0 and, where the library was built with
MuJoCo, fgsf/Reacher-v0 and fgsf/PointMaze-v0, if Gymnasium is installed. fgsf.Env works without it.
"""
from __future__ import annotations

from ctypes import c_void_p
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._lib import Config, EnvSpec, Error, Lanes, Spec, lib, pointer, vector

try:
    import gymnasium
    _Base: Any = gymnasium.Env
    _VectorBase: Any = gymnasium.vector.VectorEnv
except ImportError:
    gymnasium = None  # type: ignore[assignment]
    _Base = _VectorBase = object

Start = Tuple[np.ndarray, Dict[str, Any]]
Step = Tuple[np.ndarray, Any, Any, Any, Dict[str, Any]]


def _box(name: str, size: int, dtype: Any) -> Any:
    low, high = (0.0, 1.0) if name == "four_rooms" else (-np.inf, np.inf)
    return gymnasium.spaces.Box(low, high, (size,), dtype)


class VectorEnv(_VectorBase):
    """N instances stepped in C into numpy arrays that are used again at each step.

    An instance whose episode is over starts the next one at the following step, whose action is not
    used (Gymnasium's AutoresetMode.NEXT_STEP). info has features (N, F) and success (N). Copy what
    you keep.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, name: str, num_envs: int, task: int = 0, horizon: Optional[int] = None,
                 preset: str = "clean", **settings: Any):
        self._handles, self._seeded = np.zeros(num_envs, np.uint64), False
        self.config, self.num_envs = Config(name, preset, "sfrql", **settings), num_envs
        for i in range(num_envs):
            lib.fgsf_env_create(self.config.memory, pointer(self._handles[i:]))
            lib.fgsf_env_set_task(self.handle(i), task)
        self.sizes = EnvSpec(*Spec.from_address(lib.fgsf_env_get_spec(self.handle(0))))
        if gymnasium:
            self.single_observation_space = _box(name, self.sizes.state_size, np.float64)
            self.single_action_space = gymnasium.spaces.Discrete(self.sizes.num_actions)
            batch = gymnasium.vector.utils.batch_space
            self.observation_space = batch(self.single_observation_space, num_envs)
            self.action_space = batch(self.single_action_space, num_envs)
            self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        n, size, width = num_envs, self.sizes.state_size, self.sizes.num_features
        self._rngs, self._lengths = np.zeros((n, 4), np.uint64), np.zeros(n, np.int32)
        self.states, self.rewards, self.features = np.zeros((n, size)), np.zeros(n), np.zeros((n, width))
        self.terminated, self.truncated, self.success = (np.zeros(n, bool) for _ in range(3))
        self._actions = np.zeros(n, np.int32)
        self._address = pointer(self._actions)
        horizon = int(self.config["train.horizon"]) if horizon is None else horizon
        self._lanes = Lanes(n, horizon, *(array.ctypes.data for array in (
            self._handles, self._rngs, self._lengths, self.states, self.rewards, self.features,
            self.terminated, self.truncated, self.success)))
        self._info = {"features": self.features, "success": self.success}

    def handle(self, i: int) -> c_void_p:
        """The address of an instance, for calls of the library."""
        if not self._handles.size:
            raise Error("the environment is closed")
        return c_void_p(int(self._handles[i]))

    def reset(self, *, seed: Any = None, options: Optional[Dict[str, Any]] = None) -> Start:
        """Starts an episode in every instance; instance i has seed + i, or the i-th of a list."""
        self.handle(0)
        if seed is None and not self._seeded:
            seed = int(np.random.default_rng().integers(2**52))
        if seed is not None:
            seeds = np.asarray(seed) + (0 if np.ndim(seed) else np.arange(self.num_envs))
            if seeds.dtype.kind not in "iu" or seeds.min() < 0:
                raise Error(f"seed: {seed!r} is not a whole number from 0 on")
            seeds = vector(seeds, self.num_envs, "seed", np.uint64)
            lib.fgsf_python_seed(self._lanes, pointer(seeds))
            self._seeded = True
        lib.fgsf_python_step(self._lanes, None)
        return self.states, self._info

    def step(self, actions: Any) -> Step:
        """One step of every instance."""
        if not self._seeded:
            raise Error("step before reset")
        if np.shape(actions) != self._actions.shape:
            raise Error(f"actions: {np.size(actions)} numbers, but {self.num_envs} are needed")
        self._actions[:] = actions
        lib.fgsf_python_step(self._lanes, self._address)
        return self.states, self.rewards, self.terminated, self.truncated, self._info

    def close(self, **kwargs: Any) -> None:
        """Frees every instance; more than once is fine."""
        for handle in self._handles:
            lib.fgsf_env_free(c_void_p(int(handle)))
        self._handles, self._seeded = self._handles[:0], False

    __del__ = close


class Env(_Base):
    """One instance of a registered environment ("four_rooms", "reacher", "point_maze").

    `task` picks the reward: trained tasks first, held-out ones after them. With `goal` it pays its
    feature vector instead, as MO-Gymnasium's environments do: "feature" is phi itself, "shared" pays
    Four Rooms' goal as four-room-v0 does, one in each of the other features.

    Settings are the keys of docs/config.md: env_slip=0.1, say. Observations are the encoded state in
    double precision, with the same seed equal to what the driver `rollout` prints. info["features"]
    is phi, info["success"] whether the task's goal is reached.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, name: str = "four_rooms", task: int = 0, preset: str = "clean",
                 goal: Optional[str] = None, render_mode: Optional[str] = None, **settings: Any):
        if goal not in (None, "feature", "shared"):
            raise Error(f"goal: '{goal}' is not feature or shared")
        self._lane, self.render_mode = VectorEnv(name, 1, task, 0, preset, **settings), render_mode
        self.sizes, self._goal = self._lane.sizes, goal
        self.reward_dim = self.sizes.num_features - (goal == "shared") if goal else 1
        if gymnasium:
            self.observation_space = self._lane.single_observation_space
            self.action_space = self._lane.single_action_space
            if goal:
                self.reward_space = _box(name, self.reward_dim, np.float32)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Start:
        """Starts an episode; options={"task": k} changes the task."""
        if gymnasium:
            super().reset(seed=seed)
        if options and "task" in options:
            lib.fgsf_env_set_task(self._lane.handle(0), options["task"])
        self._lane.reset(seed=seed)
        return self._now()

    def _now(self) -> Start:
        lane = self._lane
        return lane.states[0].copy(), {"features": lane.features[0].copy(),
                                       "success": lane.success.item(0)}

    def step(self, action: int) -> Step:
        """One step: observation, reward, terminated, truncated (never: wrappers cut), info."""
        if self._lane.terminated[0]:
            raise Error("the episode is over: reset first")
        self._lane.step([action])
        (obs, info), over = self._now(), self._lane.terminated.item(0)
        reward = self._lane.rewards.item(0)
        if self._goal:
            reward = info["features"][:self.reward_dim].astype(np.float32)
            if over and self._goal == "shared":
                reward[:] = 1.0
        return obs, reward, over, False, info

    @property
    def state(self) -> np.ndarray:
        """The full raw state: in Four Rooms the cell and which objects are collected."""
        state = np.empty(self.sizes.full_size)
        lib.fgsf_env_get_state(self._lane.handle(0), pointer(state))
        return state

    def close(self) -> None:
        """Frees the instance; more than once is fine."""
        self._lane.close()


vector_env = VectorEnv


def _register() -> None:
    for id, name, goal in (("FourRooms", "four_rooms", None), ("Reacher", "reacher", None),
                           ("PointMaze", "point_maze", None), ("MOFourRooms", "four_rooms", "feature")):
        try:
            horizon = int(Config(name)["train.horizon"])
        except Error:
            continue  # built without MuJoCo
        gymnasium.register(f"fgsf/{id}-v0", entry_point=Env, max_episode_steps=horizon,
                           kwargs={"name": name, "goal": goal})


if gymnasium:
    _register()
