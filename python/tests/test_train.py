"""Training on Gymnasium's and MO-Gymnasium's environments, at sizes that take seconds."""
import json

import numpy as np
import pytest

import fgsf

SMALL = {"net_hidden": (32,), "train_batch_size": 32}


class Space:
    def __init__(self, n):
        self.n = n


class Corridor:
    """Five cells, left and right; one at the right end. Gymnasium's convention without Gymnasium."""
    action_space, observation_space = Space(2), Space(5)

    def reset(self, seed=None):
        self.cell, self.time = 0, 0
        return self.cell, {}

    def step(self, action):
        self.cell = max(0, self.cell + (1 if action else -1))
        self.time += 1
        return self.cell, float(self.cell == 4), self.cell == 4, self.time == 40, {}


@pytest.mark.parametrize("method", ["dqn", "fg-dqn", "fg-sfrql"])
def test_a_corridor_without_gymnasium(method):
    agent, log = fgsf.train(Corridor(), method, 1500, explore_epsilon=1.0, **SMALL)
    assert [agent.act(s) for s in range(4)] == [1, 1, 1, 1]
    assert log["step"][-1] <= 1500 and log["length"].sum() == log["step"][-1]
    assert fgsf.evaluate(agent, Corridor(), 2).tolist() == [1.0, 1.0]
    assert 0 < log.env_seconds < log.seconds


def test_features_and_tasks_give_zero_shot_actions():
    def ends(obs, action, next_obs, info):
        return [next_obs == 4, next_obs == 0]
    agent, log = fgsf.train(Corridor(), "fg-sfrql", 1000, features=ends, tasks=[[1, 0], [0, 1]],
                            explore_epsilon=0.6, explore_schedule="linear", explore_over=500,
                            **SMALL)
    assert agent.num_tasks == 2 and agent.q(0).shape == (2, 2)
    assert agent.act(3, w=[1, 0]) == 1 and agent.act(1, w=[-0.1, 1]) == 0
    first = log["task"] == 0  # the rate falls within each task and stays at explore.to
    assert log["epsilon"][0] > 0.5 and log["epsilon"][first][-1] == 0.05 < log["epsilon"][~first][0]


def test_interrupted_training_goes_on(tmp_path):
    class Impatient(Corridor):
        steps = 0

        def step(self, action):
            Impatient.steps += 1
            if Impatient.steps == 300:
                raise KeyboardInterrupt
            return super().step(action)

    with pytest.raises(fgsf.Interrupted) as caught:
        fgsf.train(Impatient(), "dqn", 600, out=tmp_path, **SMALL)
    assert caught.value.agent.q(0).shape == (1, 2)
    assert json.loads((tmp_path / "progress.json").read_text())["step"] == 299
    with pytest.raises(fgsf.Error, match="another configuration"):
        fgsf.train(Corridor(), "dqn", 600, out=tmp_path, dqn_lr=0.5, **SMALL)
    agent, log = fgsf.train(Corridor(), "dqn", 600, out=tmp_path, **SMALL)
    assert log["step"][0] < 299 and log["step"][-1] > 299
    assert json.loads((tmp_path / "progress.json").read_text())["step"] == 600


def test_what_cannot_be_trained_is_named():
    continuous = Corridor()
    continuous.action_space = object()
    with pytest.raises(fgsf.Error, match="action_space"):
        fgsf.train(continuous, steps=10)
    with pytest.raises(fgsf.Error, match="tasks= needs features="):
        fgsf.train(Corridor(), steps=10, tasks=[[1.0, 0.0]])


@pytest.mark.parametrize("hidden", [(), ("tqdm", "tqdm.auto")])
def test_progress_is_shown(capsys, monkeypatch, hidden):
    for module in hidden:
        monkeypatch.setitem(__import__("sys").modules, module, None)
    fgsf.train(Corridor(), "dqn", 100, progress=True, **SMALL)
    assert "100" in capsys.readouterr().err


def test_cartpole_gets_better():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("CartPole-v1")
    agent, log = fgsf.train(env, "dqn", 3000, net_hidden=(64, 64), explore_epsilon=0.2,
                            train_gamma=0.98)
    assert fgsf.evaluate(agent, env, 5).mean() > 3 * log["episode_return"][:20].mean()


def test_frozen_lake_is_solved():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    agent, _ = fgsf.train(env, "fg-dqn", 4000, explore_epsilon=0.9, **SMALL)
    assert fgsf.evaluate(agent, env, 3).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name, steps, least", [
    ("deep-sea-treasure-v0", 1500, 0.5), ("resource-gathering-v0", 300, None),
    ("fruit-tree-v0", 300, 0.5), ("minecart-v0", 100, None)])
def test_mo_gymnasium_zero_shot(name, steps, least):
    """Every one trains and acts on a new weight; the easy ones reach half of what the front allows."""
    mo_gymnasium = pytest.importorskip("mo_gymnasium")
    env = mo_gymnasium.make(name, max_episode_steps=50)
    width, high = env.unwrapped.reward_space.shape[0], env.observation_space.high
    tasks = [np.ones(width) / width, np.eye(width)[0]]

    def cells(obs):  # whole numbers become one-hot, each coordinate for itself
        if env.observation_space.dtype.kind == "f":
            return obs
        return np.concatenate([np.arange(h + 1) == x for x, h in zip(obs, high)])
    agent, _ = fgsf.train(env, "fg-sfrql", steps, tasks=tasks, encode=cells, explore_epsilon=0.5,
                          **SMALL)
    w = 0.8 * tasks[0] + 0.2 * tasks[1]
    found = fgsf.evaluate(agent, env, 1, w=w)
    assert found.shape == (1, width)
    if least:
        front = np.array(env.unwrapped.pareto_front(1.0))
        assert found[0] @ w > least * (front @ w).max()
