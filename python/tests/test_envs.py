"""Our environments: by Gymnasium's book, equal to `rollout`, and many at once."""
import os
import pathlib
import subprocess
import time

import numpy as np
import pytest

import fgsf
from conftest import SOURCE

NAMES = {"FourRooms": "four_rooms", "Reacher": "reacher", "PointMaze": "point_maze"}


def make(name, **arguments):
    try:
        return fgsf.Env(name, **arguments)
    except fgsf.Error as e:
        pytest.skip(str(e))  # built without MuJoCo


@pytest.mark.parametrize("name", NAMES.values())
def test_equals_rollout_bit_for_bit(name):
    rollout = pathlib.Path(os.environ.get("FGSF_BUILD", SOURCE / "build"), "experiments", "rollout")
    if not rollout.exists():
        pytest.skip("rollout is not built")
    slip = 0.1 if name == "four_rooms" else 0
    env = make(name, task=1, env_slip=slip)
    command = f"--env {name} --task 1 --seed 5 --random --steps 400 --set env.slip={slip}"
    lines = subprocess.check_output([rollout, *command.split()], text=True).split()
    env.reset(seed=5)
    for line in lines[1:]:
        row = [float(x) for x in line.split(",")]
        obs, reward, terminated, _, info = env.step(int(row[1]))
        assert [*obs, reward, terminated, *info["features"]] == row[2:]
        if terminated:
            env.reset()
    assert len(lines) == 401


@pytest.mark.filterwarnings("ignore:.*Box observation space")
@pytest.mark.parametrize("id", NAMES)
def test_gymnasium_checks_and_cuts(id):
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env
    make(NAMES[id])
    env = gymnasium.make(f"fgsf/{id}-v0", task=1)
    check_env(env.unwrapped)
    env.reset(seed=1)
    for _ in range(env.spec.max_episode_steps):
        _, _, terminated, truncated, info = env.step(0)
    assert truncated and not terminated and env.unwrapped.sizes.num_features == len(info["features"])


def test_mo_four_rooms_is_mo_gymnasiums():
    gymnasium = pytest.importorskip("gymnasium")
    mo_gymnasium = pytest.importorskip("mo_gymnasium")
    theirs = mo_gymnasium.make("four-room-v0").unwrapped
    ours = gymnasium.make("fgsf/MOFourRooms-v0", goal="shared", disable_env_checker=True).unwrapped
    own_goal = gymnasium.make("fgsf/MOFourRooms-v0", disable_env_checker=True).unwrapped
    assert ours.reward_dim == theirs.reward_dim == own_goal.reward_dim - 1 == 3
    every = (theirs, ours, own_goal)
    rng, ends = np.random.default_rng(0), 0
    for t in range(4000):
        if t == 0 or over:
            for env in every:
                env.reset(seed=0)
        action = int(rng.integers(4)) if t % 2 else int(rng.choice([1, 2]))
        (obs, reward, over, _, _), shared, feature = (env.step(action) for env in every)
        assert np.array_equal(shared[1], reward) and shared[2] == feature[2] == over
        assert np.array_equal(feature[1], [0, 0, 0, 1] if over else [*reward, 0])
        row, column, *collected = ours.state
        assert [row, column] == obs[:2].tolist() and sum(collected) == sum(obs[2:])
        ends += over
    assert ends > 5


def test_vector_env_is_the_single_one():
    many = fgsf.vector_env("four_rooms", 3, task=2, env_slip=0.2, horizon=30)
    singles = [fgsf.Env("four_rooms", task=2, env_slip=0.2) for _ in range(3)]
    states, _ = many.reset(seed=7)
    assert all(np.array_equal(e.reset(seed=7 + i)[0], states[i]) for i, e in enumerate(singles))
    rng, length, over = np.random.default_rng(0), [0] * 3, [False] * 3
    for _ in range(500):
        actions = rng.integers(4, size=3)
        states, rewards, terminated, truncated, info = many.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                obs, reward, ended, length[i] = env.reset()[0], 0.0, False, 0
            else:
                obs, reward, ended, _, single = env.step(actions[i])
                assert np.array_equal(single["features"], info["features"][i])
                length[i] += 1
            cut = not ended and length[i] == 30
            assert np.array_equal(obs, states[i]) and reward == rewards[i]
            assert (ended, cut) == (terminated[i], truncated[i])
            over[i] = ended or cut


def test_vector_env_steps_five_million_times_a_second():
    env, best = fgsf.vector_env("four_rooms", 256), 0.0
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(4, size=(400, 256)).astype(np.int32)
    for _ in range(5):
        started = time.process_time()
        for a in actions:
            env.step(a)
        best = max(best, actions.size / (time.process_time() - started))
    assert best > 5e6, best
