"""The learner, agents, configurations, and that nothing is left behind."""
import gc
import pathlib

import numpy as np
import pytest

import fgsf


def feed(learner, steps, seed=0, size=5, actions=3):
    """Random transitions; returns the actions and losses, which show the learner's whole state."""
    rng = np.random.default_rng(seed)
    seen = []
    s = rng.random(size, np.float32)
    for _ in range(steps):
        action, s_next = learner.act(s, epsilon=0.3), rng.random(size, np.float32)
        phi = rng.random(learner.num_features, np.float32)
        learner.observe(s, action, float(phi.sum()), s_next, rng.random() < 0.1, phi)
        seen.append((action, learner.learn().loss))
        s = s_next
    return seen


def small(method="fg-sfrql", **settings):
    return fgsf.Learner(5, 3, 2, method=method, net_hidden=(16,), train_batch_size=8, **settings)


@pytest.mark.parametrize("method", ["dqn", "fg-dqn", "sfrql", "fg-sfrql"])
def test_the_same_seed_gives_the_same_run(method):
    assert feed(small(method), 60) == feed(small(method), 60)
    assert feed(small(method), 60) != feed(small(method, seed=1), 60)


def test_save_and_load_go_on_bit_for_bit(tmp_path):
    first = small()
    feed(first, 40)
    first.save(tmp_path / "learner.gguf")
    second = small()
    second.load(tmp_path / "learner.gguf")
    assert feed(first, 30, seed=9) == feed(second, 30, seed=9)


def test_dqn_learns_a_bandit():
    learner = fgsf.Learner(1, 3, method="dqn", net_hidden=(16,), train_batch_size=16, dqn_lr=1e-2)
    s = np.ones(1, np.float32)
    for i in range(400):
        learner.observe(s, i % 3, [0.1, 0.9, -0.4][i % 3], s, True)
        learner.learn()
    assert np.allclose(learner.agent.q(s), [[0.1, 0.9, -0.4]], atol=0.05)
    assert learner.agent.act(s) == 1


def test_agent_scores_features_and_acts_on_new_weights(tmp_path):
    learner = small()
    feed(learner, 50)
    agent, s = learner.agent, np.full(5, 0.3, np.float32)
    x = agent.features(s)
    assert x.shape == (3, 2)
    for w in ([1.0, 0.0], [-2.0, 0.5]):
        assert np.allclose(agent.q(s, w=w)[0], x @ w, atol=1e-5)
        assert agent.act(s, w=w) == int(np.argmax(x @ np.float32(w)))
    agent.save(tmp_path / "policy.gguf", learner.config)
    loaded = fgsf.load(tmp_path / "policy.gguf")
    assert np.array_equal(loaded.q(s, w=[1, 2]), agent.q(s, w=[1, 2]))
    assert np.array_equal(loaded.q(s), agent.q(s))


def test_an_agent_outlives_the_name_of_its_learner():
    agent = small().agent
    gc.collect()
    assert agent.q(np.zeros(5)).shape == (1, 3)


def test_errors_are_exceptions_with_the_librarys_message(tmp_path):
    with pytest.raises(fgsf.Error, match="the nearest is 'sf.lr'"):
        small(sf_lrr=1)
    with pytest.raises(fgsf.Error, match="no environment is called 'nowhere'"):
        fgsf.Env("nowhere")
    with pytest.raises(fgsf.Error, match="action 3 is not in"):
        small().observe(np.zeros(5), 3, 0.0, np.zeros(5), False, [0, 0])
    with pytest.raises(fgsf.Error, match="4 numbers, but 5 are needed"):
        small().act(np.zeros(4))
    with pytest.raises(fgsf.Error, match="missing.gguf") as caught:
        fgsf.load(tmp_path / "missing.gguf")
    assert caught.value.status == "io"
    with pytest.raises(fgsf.Error, match="target network"):
        small(target_mode="hard")


def test_settings_as_text():
    config = fgsf.Config(method="dqn", net_hidden=(8, 4), net_bias=False, train_gamma=0.1 + 0.2)
    assert config["net.hidden"] == "8,4" and config["net.bias"] == "false"
    assert float(config["train.gamma"]) == 0.1 + 0.2


def resident_kilobytes():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_a_thousand_creates_and_frees_leave_nothing(golden):
    def once():
        feed(small(train_buffer_capacity=64), 10)
        env = fgsf.Env("four_rooms")
        env.reset(seed=0)
        env.close()
        fgsf.vector_env("four_rooms", 2).close()
    for _ in range(100):
        once()
    gc.collect()
    before = resident_kilobytes()
    for _ in range(1000):
        once()
    gc.collect()
    assert resident_kilobytes() - before < 1000  # less than a kilobyte for each
