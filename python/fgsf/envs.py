"""Our environments for Gymnasium and MO-Gymnasium, one at a time or many at once.

`import fgsf` registers fgsf/FourRooms-v0, fgsf/MOFourRooms-v0 and, where the library was built with
MuJoCo, fgsf/Reacher-v0 and fgsf/PointMaze-v0, if Gymnasium is installed. fgsf.Env works without it.
"""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._lib import STREAM_ENV, Config, EnvSpec, Error, Lanes, Rng, StepResult, lib, pointer, vector

try:
    import gymnasium
    _Base: Any = gymnasium.Env
    _VectorBase: Any = gymnasium.vector.VectorEnv
except ImportError:
    gymnasium = None  # type: ignore[assignment]
    _Base = _VectorBase = object


def _bounds(name: str) -> Tuple[float, float]:
    return (0.0, 1.0) if name == "four_rooms" else (-np.inf, np.inf)


def _check_seed(seed: Any) -> int:
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise Error(f"seed: {seed!r} is not a whole number from 0 on")
    return int(seed)


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
        self._handle: Any = c_void_p()
        self.render_mode = render_mode
        self.config = Config(name, preset, "sfrql")
        known = {"slip": "env.slip"}
        self.config.update({known.get(k, k): v for k, v in settings.items()})
        lib.fgsf_env_create(self.config.memory, byref(self._handle))
        self.sizes = EnvSpec.from_buffer_copy(
            EnvSpec.from_address(lib.fgsf_env_get_spec(self._handle)))
        lib.fgsf_env_set_task(self._handle, task)
        self._rng: Optional[Rng] = None
        self._step, self._state = StepResult(), np.empty(self.sizes.state_size)
        self._address = self._state.ctypes.data
        if gymnasium:
            low, high = _bounds(name)
            self.observation_space = gymnasium.spaces.Box(low, high, (self.sizes.state_size,),
                                                          np.float64)
            self.action_space = gymnasium.spaces.Discrete(self.sizes.num_actions)

    def _observe(self) -> np.ndarray:
        lib.fgsf_env_observe_f64(self._handle, self._address)
        return self._state.copy()

    def _info(self, phi: np.ndarray, success: bool) -> Dict[str, Any]:
        return {"features": phi, "success": success}

    def reset(self, *, seed: Optional[int] = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Starts an episode; options={"task": k} changes the task, {"state": x} the raw state."""
        if not self._handle:
            raise Error("the environment is closed")
        if gymnasium:
            super().reset(seed=seed)
        if seed is None and self._rng is None:
            drawn = self.np_random if gymnasium else np.random.default_rng()
            seed = int(drawn.integers(2**53))
        if seed is not None:
            self._rng = lib.fgsf_rng_make(_check_seed(seed), STREAM_ENV)
        options = options or {}
        if "task" in options:
            lib.fgsf_env_set_task(self._handle, options["task"])
        lib.fgsf_env_reset(self._handle, byref(self._rng))
        if "state" in options:
            state = np.ascontiguousarray(options["state"], np.float64)
            lib.fgsf_env_set_state(self._handle, pointer(state), state.size)
        return self._observe(), self._info(np.zeros(self.sizes.num_features), False)

    def step(self, action: int) -> Tuple[np.ndarray, Any, bool, bool, Dict[str, Any]]:
        """One step: observation, reward, terminated, truncated (never: wrappers cut), info."""
        if self._rng is None:
            raise Error("step before reset")
        step = self._step
        lib.fgsf_env_step(self._handle, int(action), byref(self._rng), byref(step))
        phi = np.array(step.phi[:self.sizes.num_features])
        return (self._observe(), self._reward(step.reward, phi, step.terminal), step.terminal,
                False, self._info(phi, step.success))

    def _reward(self, reward: float, phi: np.ndarray, terminal: bool) -> Any:
        return reward

    @property
    def state(self) -> np.ndarray:
        """The full raw state, for options={"state": x}."""
        if not self._handle:
            raise Error("the environment is closed")
        state = np.empty(self.sizes.full_size)
        lib.fgsf_env_get_state(self._handle, pointer(state))
        return state

    def close(self) -> None:
        """Frees the instance; more than once is fine."""
        if getattr(self, "_handle", None):
            lib.fgsf_env_free(self._handle)
            self._handle = self._rng = None

    def __del__(self) -> None:
        self.close()


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

    def _reward(self, reward: float, phi: np.ndarray, terminal: bool) -> np.ndarray:
        if self._shared:
            phi = np.ones(self.reward_dim) if terminal else phi[:-1]
        return phi.astype(np.float32)


class VectorEnv(_VectorBase):
    """N instances stepped in C into numpy arrays that are used again at each step.

    An instance whose episode is over starts the next one at the following step, whose action is not
    used (Gymnasium's AutoresetMode.NEXT_STEP). Observations are float32; info["features"] is (N, F).
    Copy what you keep.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, name: str, num_envs: int, task: int = 0, horizon: Optional[int] = None,
                 preset: str = "clean", **settings: Any):
        if num_envs < 1:
            raise Error(f"num_envs: {num_envs} is not positive")
        self._envs = [Env(name, task, preset, **settings) for _ in range(num_envs)]
        first, self.num_envs = self._envs[0], num_envs
        self.sizes = first.sizes
        cut = int(first.config["train.horizon"]) if horizon is None else horizon
        n, size, width = num_envs, self.sizes.state_size, self.sizes.num_features
        self._arrays = {
            "envs": np.array([e._handle.value for e in self._envs], np.uint64),
            "rngs": np.zeros((n, 4), np.uint64), "lengths": np.zeros(n, np.int32),
            "over": np.zeros(n, bool), "states": np.zeros((n, size), np.float32),
            "rewards": np.zeros(n), "features": np.zeros((n, width)),
            "terminated": np.zeros(n, bool), "truncated": np.zeros(n, bool)}
        self._lanes = Lanes(n, cut, *(a.ctypes.data for a in self._arrays.values()))
        self._info = {"features": self._arrays["features"]}
        self._seeded = False
        if gymnasium:
            low, high = _bounds(name)
            self.single_observation_space = gymnasium.spaces.Box(low, high, (size,), np.float32)
            self.single_action_space = first.action_space
            batch = gymnasium.vector.utils.batch_space
            self.observation_space = batch(self.single_observation_space, n)
            self.action_space = batch(self.single_action_space, n)
            self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def reset(self, *, seed: Any = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Starts an episode in every instance; instance i has seed + i, or the i-th of a list."""
        if not self._envs:
            raise Error("the environments are closed")
        if seed is None and not self._seeded:
            seed = int(np.random.default_rng().integers(2**52))
        if seed is not None:
            seeds = seed if np.ndim(seed) else [_check_seed(seed) + i for i in range(self.num_envs)]
            for i, s in enumerate(seeds):
                self._arrays["rngs"][i] = lib.fgsf_rng_make(_check_seed(s), STREAM_ENV).s[:]
            self._seeded = True
        lib.fgsf_python_step(byref(self._lanes), None)
        return self._arrays["states"], self._info

    def step(self, actions: Any) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray,
                                          Dict[str, Any]]:
        """One step of every instance."""
        if not self._seeded:
            raise Error("step before reset")
        chosen = vector(actions, self.num_envs, "actions", np.int32)
        lib.fgsf_python_step(byref(self._lanes), chosen.ctypes.data)
        a = self._arrays
        return a["states"], a["rewards"], a["terminated"], a["truncated"], self._info

    def close(self, **kwargs: Any) -> None:
        """Frees every instance."""
        for env in self._envs:
            env.close()
        self._envs, self._seeded = [], False


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
