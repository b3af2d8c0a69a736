"""Our environments for Gymnasium and MO-Gymnasium, one at a time or many at once.

`import fgsf` registers fgsf/FourRooms-v0, fgsf/MOFourRooms-v0 and, where the library was built with
MuJoCo, fgsf/Reacher-v0 and fgsf/PointMaze-v0, if Gymnasium is installed. fgsf.Env works without it.
"""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._lib import STREAM_ENV, Config, EnvSpec, Error, Lanes, failure, lib, pointer

try:
    import gymnasium
    _Base: Any = gymnasium.Env
    _VectorBase: Any = gymnasium.vector.VectorEnv
except ImportError:
    gymnasium = None  # type: ignore[assignment]
    _Base = _VectorBase = object


def _bounds(name: str) -> Tuple[float, float]:
    return (0.0, 1.0) if name == "four_rooms" else (-np.inf, np.inf)


class VectorEnv(_VectorBase):
    """N instances stepped in C into numpy arrays that are used again at each step.

    An instance whose episode is over starts the next one at the following step, whose action is not
    used (Gymnasium's AutoresetMode.NEXT_STEP). info has features (N, F) and success (N). Copy what
    you keep.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, name: str, num_envs: int, task: int = 0, horizon: Optional[int] = None,
                 preset: str = "clean", **settings: Any):
        self._handles, self._seeded = np.zeros(0, np.uint64), False
        if num_envs < 1:
            raise Error(f"num_envs: {num_envs} is not positive")
        self.config, self.num_envs = Config(name, preset, "sfrql"), num_envs
        self.config.update({"env.slip" if k == "slip" else k: v for k, v in settings.items()})
        self._handles = np.zeros(num_envs, np.uint64)
        for i in range(num_envs):
            lib.fgsf_env_create(self.config.memory, pointer(self._handles[i:]))
            lib.fgsf_env_set_task(int(self._handles[i]), task)
        spec = lib.fgsf_env_get_spec(int(self._handles[0]))
        self.sizes = EnvSpec.from_buffer_copy(EnvSpec.from_address(spec))
        self._allocate(int(self.config["train.horizon"]) if horizon is None else horizon)
        if gymnasium:
            self._make_spaces(*_bounds(name))

    def _allocate(self, horizon: int) -> None:
        n, size, width = self.num_envs, self.sizes.state_size, self.sizes.num_features
        self._rngs, self._lengths = np.zeros((n, 4), np.uint64), np.zeros(n, np.int32)
        self.states, self.rewards, self.features = np.zeros((n, size)), np.zeros(n), np.zeros((n, width))
        self.terminated, self.truncated, self.success = (np.zeros(n, bool) for _ in range(3))
        self._actions = np.zeros(n, np.int32)
        self._address = c_void_p(pointer(self._actions))
        self._lanes = Lanes(n, horizon, *map(pointer, (
            self._handles, self._rngs, self._lengths, self.states, self.rewards, self.features,
            self.terminated, self.truncated, self.success)))
        self._info = {"features": self.features, "success": self.success}

    def _make_spaces(self, low: float, high: float) -> None:
        spaces, batch = gymnasium.spaces, gymnasium.vector.utils.batch_space
        self.single_observation_space = spaces.Box(low, high, (self.sizes.state_size,), np.float64)
        self.single_action_space = spaces.Discrete(self.sizes.num_actions)
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def reset(self, *, seed: Any = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Starts an episode in every instance; instance i has seed + i, or the i-th of a list."""
        if not self._handles.size:
            raise Error("the environment is closed")
        if seed is None and not self._seeded:
            seed = int(np.random.default_rng().integers(2**52))
        if seed is not None:
            seeds = seed if np.ndim(seed) else [seed + i for i in range(self.num_envs)]
            for i, s in enumerate(seeds):
                if not isinstance(s, (int, np.integer)) or s < 0:
                    raise Error(f"seed: {s!r} is not a whole number from 0 on")
                self._rngs[i] = lib.fgsf_rng_make(int(s), STREAM_ENV).s[:]
            self._seeded = True
        self._advance(None)
        return self.states, self._info

    def _advance(self, actions: Optional[c_void_p]) -> None:
        status = lib.fgsf_python_step(byref(self._lanes), actions)
        if status:
            raise failure(status)

    def step(self, actions: Any) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray,
                                          Dict[str, Any]]:
        """One step of every instance."""
        if not self._seeded:
            raise Error("step before reset")
        if np.shape(actions) != self._actions.shape:
            raise Error(f"actions: {np.size(actions)} numbers, but {self.num_envs} are needed")
        self._actions[:] = actions
        self._advance(self._address)
        return self.states, self.rewards, self.terminated, self.truncated, self._info

    def close(self, **kwargs: Any) -> None:
        """Frees every instance; more than once is fine."""
        for handle in self._handles:
            lib.fgsf_env_free(int(handle))
        self._handles, self._seeded = self._handles[:0], False

    def __del__(self) -> None:
        self.close()


class Env(_Base):
    """One instance of a registered environment ("four_rooms", "reacher", "point_maze").

    `task` picks the reward: trained tasks first, held-out ones after them. Settings are the keys of
    docs/config.md: slip or env_slip=0.1, say. Observations are the encoded state in double precision,
    with the same seed equal to what the driver `rollout` prints. info["features"] is phi,
    info["success"] whether the task's goal is reached.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, name: str = "four_rooms", task: int = 0, preset: str = "clean",
                 render_mode: Optional[str] = None, **settings: Any):
        self._lane, self.render_mode = VectorEnv(name, 1, task, 0, preset, **settings), render_mode
        self.sizes, self._one = self._lane.sizes, np.zeros(1, np.int32)
        if gymnasium:
            self.observation_space = self._lane.single_observation_space
            self.action_space = self._lane.single_action_space

    def _handle(self) -> int:
        if not self._lane._handles.size:
            raise Error("the environment is closed")
        return int(self._lane._handles[0])

    def _info(self) -> Dict[str, Any]:
        return {"features": self._lane.features[0].copy(), "success": self._lane.success.item(0)}

    def reset(self, *, seed: Optional[int] = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Starts an episode; options={"task": k} changes the task, {"state": x} the raw state."""
        if gymnasium:
            super().reset(seed=seed)
        handle, options = self._handle(), options or {}
        if "task" in options:
            lib.fgsf_env_set_task(handle, options["task"])
        self._lane.reset(seed=seed)
        if "state" in options:
            state = np.ascontiguousarray(options["state"], np.float64)
            lib.fgsf_env_set_state(handle, pointer(state), state.size)
            lib.fgsf_env_observe_f64(handle, pointer(self._lane.states))
        return self._lane.states[0].copy(), self._info()

    def step(self, action: int) -> Tuple[np.ndarray, Any, bool, bool, Dict[str, Any]]:
        """One step: observation, reward, terminated, truncated (never: wrappers cut), info."""
        if self._lane.terminated[0]:
            raise Error("the episode is over: reset first")
        self._one[0] = action
        states, rewards, terminated, _, _ = self._lane.step(self._one)
        return states[0].copy(), self._reward(rewards.item(0)), terminated.item(0), False, self._info()

    def _reward(self, reward: float) -> Any:
        return reward

    @property
    def state(self) -> np.ndarray:
        """The full raw state, for options={"state": x}."""
        state = np.empty(self.sizes.full_size)
        lib.fgsf_env_get_state(self._handle(), pointer(state))
        return state

    def close(self) -> None:
        """Frees the instance; more than once is fine."""
        self._lane.close()


class MOEnv(Env):
    """An environment that pays its feature vector, as MO-Gymnasium's do.

    goal="shared" pays Four Rooms' goal as MO-Gymnasium's four-room-v0 does: one in each of the
    other features, which has no feature for the goal of its own.
    """

    def __init__(self, name: str = "four_rooms", goal: str = "feature", **arguments: Any):
        if goal not in ("feature", "shared"):
            raise Error(f"goal: '{goal}' is not feature or shared")
        super().__init__(name, **arguments)
        self._shared = goal == "shared"
        self.reward_dim = self.sizes.num_features - self._shared
        if gymnasium:
            low, high = _bounds(name)
            self.reward_space = gymnasium.spaces.Box(low, high, (self.reward_dim,), np.float32)

    def _reward(self, reward: float) -> np.ndarray:
        paid = self._lane.features[0, :self.reward_dim].astype(np.float32)
        return np.ones_like(paid) if self._shared and self._lane.terminated[0] else paid


def vector_env(name: str, num_envs: int, **arguments: Any) -> VectorEnv:
    """N instances of a registered environment; see VectorEnv."""
    return VectorEnv(name, num_envs, **arguments)


def _register() -> None:
    for id, name, entry in (("FourRooms", "four_rooms", Env), ("MOFourRooms", "four_rooms", MOEnv),
                            ("Reacher", "reacher", Env), ("PointMaze", "point_maze", Env)):
        try:
            horizon = int(Config(name, "clean", "sfrql")["train.horizon"])
        except Error:
            continue  # built without MuJoCo
        if f"fgsf/{id}-v0" not in gymnasium.registry:
            gymnasium.register(f"fgsf/{id}-v0", entry_point=entry, max_episode_steps=horizon,
                               kwargs={"name": name})


if gymnasium:
    _register()
