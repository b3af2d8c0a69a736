"""Learners, agents, gradients beside PyTorch, run directories, recipes, errors, and what calls cost."""
import ctypes
import gc
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import pytest

import fgsf
from conftest import SOURCE

GOLDEN = SOURCE / "tests" / "golden"
PAGE = (SOURCE / "docs" / "python.md").read_text()
RECIPES = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


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
def test_the_same_seed_gives_the_same_run_and_load_goes_on_with_it(method, tmp_path):
    first, second, loaded, other = small(method), small(method), small(method), small(method, seed=1)
    assert feed(first, 60) == feed(second, 60) != feed(other, 60)
    first.save(tmp_path / "learner.gguf")
    loaded.load(tmp_path / "learner.gguf")
    assert feed(first, 30, seed=9) == feed(loaded, 30, seed=9)


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


def parameters(stored, network):
    """A stored network's matrices (out, in) and biases under the names of a torch.nn.Sequential."""
    widths = [network["input"], *network["hidden"]]
    net = {f"{2 * i}.weight": np.reshape(w, (-1, widths[i])) for i, w in enumerate(stored["weights"])}
    return {**net, **{f"{2 * i}.bias": np.array(b) for i, b in enumerate(stored.get("biases", []))}}


@pytest.mark.parametrize("name", [
    "gradients/full", "gradients/semi", "gradients/mix", "gradients/critic_only", "gradients/split",
    "gradient-kinds/corrected", "gradient-kinds/gtd2", "gradient-kinds/bidirectional",
    "gradient-kinds/convergent"])
def test_equals_pytorch_in_float64(name):
    p = json.loads((GOLDEN / f"{name}.json").read_text())
    answer = json.loads((GOLDEN / f"{name}.expected.json").read_text())
    n, batch = p["network"], dict(p["batches"][0])
    batch.update({"weight": batch.pop("row_weights")} if "row_weights" in batch else {})
    kind = p.get("gradient", {0: "semi", 1: "full"}.get(p["grad_mix"], "mix"))
    other = p.get("error_network", p.get("target_network"))
    loss, gradients = fgsf.bellman(
        parameters(n, n), batch, kind, n["actions"], other and parameters(other, n),
        n["activation"], gradient_eta=p["grad_mix"], gradient_h_beta=p.get("beta", 0),
        avg_estimator=p.get("estimator", "shared"), loss_scale=p["loss"])
    assert loss == pytest.approx(answer["loss"][0], rel=1e-5)
    expected = parameters(answer["gradient"], n)
    if "error_network" in p:
        error = parameters(answer["error_gradient"], n)
        expected.update({f"other.{key}": value for key, value in error.items()})
    assert gradients.keys() == expected.keys()
    for key, value in expected.items():
        assert np.abs(gradients[key] - value).max() < 1e-5 * np.abs(value).max(), key


def make_runs(folder):
    subprocess.check_call([sys.executable, GOLDEN / "make_runs.py", folder / "runs"])


@pytest.mark.parametrize("code", RECIPES, ids=range(1, len(RECIPES) + 1))
def test_recipe(tmp_path, monkeypatch, code):
    assert len(re.findall(r"^## \d\. ", PAGE, re.M)) == 5
    for module in re.findall(r"^import (gymnasium|torch)$", code, re.M):
        pytest.importorskip(module)
    if "fgsf.runs" in code:
        make_runs(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/python.md", "exec"), {})


def test_runs_holds_every_row_of_every_run(tmp_path):
    make_runs(tmp_path)
    train = fgsf.runs(tmp_path)
    rows = sum(len(f.read_text().splitlines()) - 1 for f in tmp_path.glob("runs/*/*/seed-*/train.csv"))
    assert len(train["step"]) == rows > 0 and len(fgsf.runs(tmp_path, "eval")["return"]) > 0
    assert train["step"].dtype == np.int64 and train["gpi_share"].dtype == np.float64
    one, files = fgsf.runs(tmp_path, "run", config=("train.gamma",)), list(tmp_path.glob("runs/**/run.json"))
    assert len(one["seed"]) == len(one["train.gamma"]) == len(files)
    files[0].write_text("{")
    with pytest.raises(fgsf.Error, match="run.json"):
        fgsf.runs(tmp_path)


def errors():
    env, many, closed = fgsf.Env("four_rooms"), fgsf.vector_env("four_rooms", 2), fgsf.Env()
    for each in (env, closed):
        each.reset(seed=0, options={"task": 3})
    closed.close(), closed.close()
    net, none, two = {"0.weight": np.ones((3, 4))}, np.zeros(5), np.ones((2, 4))
    batch = {"s": two, "a": [0, 1], "y": [1, 2], "s_next": two, "a_next": [1, 2], "discount": [0, 1]}
    return {
        "the nearest is 'sf.lr'": lambda: small(sf_lrr=1),
        "target network": lambda: small(target_mode="hard"),
        "action 3 is not in": lambda: small().observe(none, 3, 0, none, False, [0, 0]),
        "4 numbers, but 5 are needed": lambda: small().act(np.zeros(4)),
        "observation 5 is not in": lambda: small().act(5),
        "missing.gguf": lambda: fgsf.load("missing.gguf"),
        "nothing: no run.json": lambda: fgsf.runs("nothing"),
        "not train, eval or run": lambda: fgsf.runs(".", "evil"),
        "no environment is called 'nowhere'": lambda: fgsf.Env("nowhere"),
        "task 99 is not in": lambda: env.reset(options={"task": 99}),
        "action 4 is not in": lambda: env.step(4),
        "seed: -1 is not": lambda: many.reset(seed=-1),
        "step before reset": lambda: many.step([0, 0]),
        "the environment is closed": lambda: closed.reset(seed=0),
        "has no 'discount'": lambda: fgsf.bellman(net, {**batch, "discount": None}),
        "a has an action": lambda: fgsf.bellman(net, {**batch, "a": [0, 3]}),
        "'1.scale' has the shape": lambda: fgsf.bellman({**net, "1.scale": np.ones(3)}, batch),
        "'0.bias' has the shape (4,)": lambda: fgsf.bellman({**net, "0.bias": np.ones(4)}, batch),
        "need (3, 3)": lambda: fgsf.bellman({**net, "2.weight": np.ones((3, 5))}, batch),
        "gradient.kind": lambda: fgsf.bellman(net, batch, "fulll"),
        "the error network": lambda: fgsf.bellman(net, batch, "corrected")}


def test_settings_and_errors_that_name_what_is_wrong():
    config = fgsf.Config(method="dqn", net_hidden=(8, 4), net_bias=False, train_gamma=0.1 + 0.2)
    assert (config["net.hidden"], config["net.bias"]) == ("8,4", "false")
    assert float(config["train.gamma"]) == 0.1 + 0.2
    for message, call in errors().items():
        with pytest.raises(fgsf.Error, match=re.escape(message)) as caught:
            call()
        assert caught.value.status == ("io" if "gguf" in message else "invalid"), message


def test_calls_cost_at_most_five_percent_more_than_from_c(tmp_path):
    """Act, observe and learn on recorded steps, in turns with the same loop in C on the same learner."""
    library = pathlib.Path(fgsf.__file__).with_name("libfgsf_python.so")
    subprocess.check_call(["gcc", "-O2", "-shared", "-fPIC", f"-I{SOURCE}/include",
                           SOURCE / "python/tests/loop.c", library, "-o", tmp_path / "loop.so"])
    loop = ctypes.CDLL(str(tmp_path / "loop.so")).loop
    loop.restype = ctypes.c_double
    env, steps, rewards = fgsf.Env("four_rooms"), 100, np.linspace(0, 1, 100, dtype=np.float32)
    states = [env.reset(seed=0)[0], *(env.step(t % 2 + 1)[0] for t in range(steps))]
    states, paid = np.array(states, np.float32), rewards.tolist()
    learner = fgsf.Learner(states.shape[1], 4, method="dqn")

    def from_python():
        started = time.thread_time()
        for t in range(steps):
            action = learner.act(states[t], 0.3)
            learner.observe(states[t], action, paid[t], states[t + 1], False)
            learner.learn()
        return time.thread_time() - started

    def from_c():
        return loop(learner._handle, ctypes.c_void_p(states.ctypes.data), states.shape[1],
                    ctypes.c_void_p(rewards.ctypes.data), steps)
    times, p, c = [], 2, 1
    while p >= 1.05 * c and len(times) < 90:  # a busy machine needs more rounds
        times += [(from_python(), from_c()) for _ in range(16)][1:]
        p, c = (statistics.median(column) / steps * 1e6 for column in zip(*times))
    assert min(map(min, times)) > 0 and p < 1.05 * c, f"{p:.0f} us from Python, {c:.0f} us from C"


def test_a_thousand_creates_and_frees_leave_nothing():
    resident = []
    for i in range(1100):
        feed(small(train_buffer_capacity=64), 10)
        fgsf.Env("four_rooms").reset(seed=0)
        fgsf.vector_env("four_rooms", 2).close()
        if i in (99, 1099):
            gc.collect()
            status = pathlib.Path("/proc/self/status").read_text()
            resident.append(int(status.split("VmRSS:")[1].split()[0]))
    assert resident[1] - resident[0] < 1000  # less than a kilobyte for each
