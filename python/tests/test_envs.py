"""Our environments: by Gymnasium's book, equal to `rollout`, and many at once."""
import time

import numpy as np
import pytest

import fgsf


def make(name, **arguments):
    try:
        return fgsf.Env(name, **arguments)
    except fgsf.Error as e:
        pytest.skip(str(e))


@pytest.mark.parametrize("name, slip", [("four_rooms", 0.1), ("reacher", 0), ("point_maze", 0)])
def test_equals_rollout_bit_for_bit(driver, name, slip):
    env = make(name, task=1, slip=slip)
    lines = driver("rollout", "--env", name, "--task", 1, "--seed", 5, "--random", "--steps", 400,
                   "--set", f"env.slip={slip}").split()
    size = env.sizes.state_size
    env.reset(seed=5)
    for line in lines[1:]:
        row = [float(x) for x in line.split(",")]
        obs, reward, terminated, _, info = env.step(int(row[1]))
        assert obs.tolist() == row[2:2 + size]
        assert [reward, terminated, *info["features"]] == row[2 + size:]
        if terminated:
            env.reset()
    assert len(lines) == 401


def test_the_state_can_be_set_and_the_task_changed():
    env = fgsf.Env("four_rooms")
    env.reset(seed=0)
    for action in (1, 1, 2, 2):
        env.step(action)
    state = env.state
    after = env.step(1)[0]
    env.reset(options={"state": state, "task": 3})
    assert np.array_equal(env.step(1)[0], after)
    with pytest.raises(fgsf.Error, match="task 99 is not in"):
        env.reset(options={"task": 99})
    with pytest.raises(fgsf.Error, match="action 4 is not in"):
        env.step(4)


def test_what_is_closed_says_so():
    for each, action in ((fgsf.Env("four_rooms"), 0), (fgsf.vector_env("four_rooms", 2), [0, 0])):
        each.reset(seed=0)
        each.close()
        each.close()
        with pytest.raises(fgsf.Error, match="closed"):
            each.reset(seed=0)
        with pytest.raises(fgsf.Error, match="before reset"):
            each.step(action)
        assert each.sizes.num_actions == 4


@pytest.mark.filterwarnings("ignore:.*Box observation space")
@pytest.mark.parametrize("id, name", [("FourRooms", "four_rooms"), ("Reacher", "reacher"),
                                      ("PointMaze", "point_maze")])
def test_gymnasium_check_env(id, name):
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env
    make(name)
    check_env(gymnasium.make(f"fgsf/{id}-v0", task=1).unwrapped)


def test_gymnasium_cuts_at_the_horizon():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("fgsf/FourRooms-v0", slip=0.5)
    env.reset(seed=1)
    for _ in range(200):
        _, _, terminated, truncated, info = env.step(0)
    assert truncated and not terminated and info["features"].shape == (4,)


def test_mo_four_rooms_is_mo_gymnasiums():
    gymnasium = pytest.importorskip("gymnasium")
    mo_gymnasium = pytest.importorskip("mo_gymnasium")
    theirs = mo_gymnasium.make("four-room-v0").unwrapped
    ours = gymnasium.make("fgsf/MOFourRooms-v0", goal="shared", disable_env_checker=True).unwrapped
    assert ours.reward_dim == theirs.reward_dim == 3
    theirs.reset(seed=0), ours.reset(seed=0)
    rng, ends = np.random.default_rng(0), 0
    for t in range(4000):
        action = int(rng.integers(4)) if t % 2 else int(rng.choice([1, 2]))
        obs, reward, terminated, _, _ = theirs.step(action)
        _, own, over, _, _ = ours.step(action)
        assert np.array_equal(own, reward) and over == terminated
        row, column, *collected = ours.state
        assert [row, column] == obs[:2].tolist() and sum(collected) == sum(obs[2:])
        if over:
            ends += 1
            theirs.reset(), ours.reset()
    assert ends > 5
    with pytest.raises(fgsf.Error, match="not feature or shared"):
        gymnasium.make("fgsf/MOFourRooms-v0", goal="none")


def test_vector_env_is_the_single_one():
    many = fgsf.vector_env("four_rooms", 3, task=2, slip=0.2, horizon=30)
    singles = [fgsf.Env("four_rooms", task=2, slip=0.2) for _ in range(3)]
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
    env = fgsf.vector_env("four_rooms", 256)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(4, size=(400, 256)).astype(np.int32)
    best = 0.0
    for _ in range(5):
        started = time.process_time()
        for a in actions:
            env.step(a)
        best = max(best, actions.size / (time.process_time() - started))
    print(f"{best / 1e6:.1f} million steps per second")
    assert best > 5e6
