"""The learner, agents, configurations, what a call costs, and that nothing is left behind."""
import ctypes
import gc
import pathlib
import statistics
import subprocess
import time

import numpy as np
import pytest

import fgsf
from conftest import SOURCE


def feed(learner, steps, seed=0, size=5):
    """Random transitions; returns the actions and losses, which show the learner's whole state."""
    rng, seen = np.random.default_rng(seed), []
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
    assert feed(small(method), 60) == feed(small(method), 60) != feed(small(method, seed=1), 60)


def test_save_and_load_go_on_bit_for_bit(tmp_path):
    first, second = small(), small()
    feed(first, 40)
    first.save(tmp_path / "learner.gguf")
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
    del learner
    gc.collect()
    assert agent.q(s).shape == (1, 3)  # an agent outlives the name of its learner


def test_errors_are_exceptions_with_the_librarys_message(tmp_path):
    for message, call in (
            ("the nearest is 'sf.lr'", lambda: small(sf_lrr=1)),
            ("no environment is called 'nowhere'", lambda: fgsf.Env("nowhere")),
            ("action 3 is not in", lambda: small().observe(np.zeros(5), 3, 0, np.zeros(5), 0, [0, 0])),
            ("4 numbers, but 5 are needed", lambda: small().act(np.zeros(4))),
            ("observation 5 is not in", lambda: small().act(5)),
            ("target network", lambda: small(target_mode="hard"))):
        with pytest.raises(fgsf.Error, match=message):
            call()
    with pytest.raises(fgsf.Error, match="missing.gguf") as caught:
        fgsf.load(tmp_path / "missing.gguf")
    assert caught.value.status == "io"


def test_settings_as_text():
    config = fgsf.Config(method="dqn", net_hidden=(8, 4), net_bias=False, train_gamma=0.1 + 0.2)
    assert config["net.hidden"] == "8,4" and config["net.bias"] == "false"
    assert float(config["train.gamma"]) == 0.1 + 0.2


def test_calls_cost_at_most_five_percent_more_than_from_c(tmp_path):
    """Act, observe and learn on recorded steps, in turns with the same loop in C on the same learner."""
    library = pathlib.Path(fgsf.__file__).with_name("libfgsf_python.so")
    subprocess.check_call(["gcc", "-O2", "-shared", "-fPIC", f"-I{SOURCE}/include",
                           SOURCE / "python/tests/loop.c", library, "-o", tmp_path / "loop.so"])
    loop = ctypes.CDLL(str(tmp_path / "loop.so")).loop
    loop.restype = ctypes.c_double
    env, steps = fgsf.Env("four_rooms"), 100
    learner = fgsf.Learner(env.sizes.state_size, 4, method="dqn")
    states, rewards = [env.reset(seed=0)[0]], np.linspace(0, 1, steps, dtype=np.float32)
    states = np.array(states + [env.step(t % 2 + 1)[0] for t in range(steps)], np.float32)
    rows, paid = list(states), rewards.tolist()

    def from_python():
        started = time.thread_time()
        for t in range(steps):
            action = learner.act(rows[t], 0.3)
            learner.observe(rows[t], action, paid[t], rows[t + 1], False)
            learner.learn()
        return time.thread_time() - started

    def from_c():
        return loop(learner._handle, ctypes.c_void_p(states.ctypes.data), states.shape[1],
                    ctypes.c_void_p(rewards.ctypes.data), steps)
    from_python(), from_c()
    times = [(from_python(), from_c()) for _ in range(15)]
    assert min(c for _, c in times) > 0
    p, c = (statistics.median(column) / steps * 1e6 for column in zip(*times))
    print(f"{p:.0f} us from Python, {c:.0f} us from C: {p / c - 1:.1%} more")
    assert p < 1.05 * c


def test_a_thousand_creates_and_frees_leave_nothing():
    def once():
        feed(small(train_buffer_capacity=64), 10)
        fgsf.Env("four_rooms").reset(seed=0)
        fgsf.vector_env("four_rooms", 2).close()

    def resident_kilobytes():
        gc.collect()
        status = pathlib.Path("/proc/self/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])
    for _ in range(100):
        once()
    before = resident_kilobytes()
    for _ in range(1000):
        once()
    assert resident_kilobytes() - before < 1000  # less than a kilobyte for each
