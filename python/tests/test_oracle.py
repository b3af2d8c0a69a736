"""fgsf.bellman beside PyTorch: the stored answers in float64, and torch itself where it is."""
import json

import numpy as np
import pytest

import fgsf


def problem(path):
    """A golden problem as arguments of fgsf.bellman, and its first batch's answer."""
    p, answer = json.loads(path.read_text()), json.loads(
        path.with_suffix("").with_suffix(".expected.json").read_text())
    n = p["network"]
    widths = [n["input"], *n["hidden"], n["actions"] * n["features"]]
    net = {}
    for i, (rows, columns) in enumerate(zip(widths[1:], widths)):
        net[f"{2 * i}.weight"] = np.reshape(n["weights"][i], (rows, columns))
        if "biases" in n:
            net[f"{2 * i}.bias"] = np.array(n["biases"][i])
    batch = dict(p["batches"][0])
    if "row_weights" in batch:
        batch["weight"] = batch.pop("row_weights")
    settings = {"gradient_eta": p["grad_mix"], "avg_estimator": p.get("estimator", "shared"),
                "loss_scale": p["loss"]}
    return net, batch, n, settings, answer


@pytest.mark.parametrize("name", ["full", "semi", "mix", "critic_only", "split"])
def test_equals_pytorch_in_float64(golden, name):
    net, batch, n, settings, answer = problem(golden / "gradients" / f"{name}.json")
    kind = {0: "semi", 1: "full"}.get(settings["gradient_eta"], "mix")
    loss, gradients = fgsf.bellman(net, batch, kind=kind, num_actions=n["actions"],
                                   activation=n["activation"], **settings)
    assert loss == pytest.approx(answer["loss"][0], rel=1e-5)
    flat = np.concatenate([np.ravel(g) for k, g in gradients.items() if k.endswith("weight")])
    expected = np.concatenate([np.ravel(g) for g in answer["gradient"]["weights"]])
    assert np.abs(flat - expected).max() < 1e-5 * np.abs(expected).max()


def make_batch(rng, rows=16, size=4, actions=3):
    return {"s": rng.normal(size=(rows, size)), "a": rng.integers(actions, size=rows),
            "y": rng.normal(size=rows), "s_next": rng.normal(size=(rows, size)),
            "a_next": rng.integers(actions, size=rows), "discount": np.full(rows, 0.9)}


def test_full_is_the_numerical_derivative_of_the_loss():
    rng = np.random.default_rng(0)
    net = {"w0.weight": rng.normal(size=(8, 4)), "w0.bias": rng.normal(size=8),
           "w1.weight": rng.normal(size=(3, 8)), "w1.bias": rng.normal(size=3)}
    batch = make_batch(rng)
    settings = {"activation": "softplus"}
    _, gradients = fgsf.bellman(net, batch, **settings)
    for name, direction in ((k, rng.normal(size=v.shape)) for k, v in net.items()):
        f = [fgsf.bellman({**net, name: net[name] + 1e-2 * k * direction}, batch, **settings)[0]
             for k in (-2, -1, 1, 2)]
        slope = (8 * (f[2] - f[1]) - (f[3] - f[0])) / 12e-2  # exact to the fourth order
        expected = float(np.sum(gradients[name] * direction))
        assert slope == pytest.approx(expected, rel=1e-3, abs=5e-4)


def test_corrected_with_h_equal_to_delta_is_the_full_gradient():
    rng = np.random.default_rng(3)
    net = {"0.weight": rng.normal(size=(1, 4))}
    row = rng.normal(size=4)  # one state, one action, one transition: h = delta is a network
    batch = {"s": [row], "a": [0], "y": [0.7], "s_next": [rng.normal(size=4)], "a_next": [0],
             "discount": [0.9]}
    settings = {"net_hidden": ""}
    _, full = fgsf.bellman(net, batch, kind="full", **settings)
    x, x_next = net["0.weight"] @ row, net["0.weight"] @ batch["s_next"][0]
    delta = 0.7 + 0.9 * x_next - x
    h = {"0.weight": (delta / (row @ row) * row)[None, :]}
    _, corrected = fgsf.bellman(net, batch, kind="corrected", other=h, **settings)
    assert np.allclose(corrected["0.weight"], full["0.weight"], rtol=1e-5)
    with pytest.raises(fgsf.Error):
        fgsf.bellman(net, batch, kind="corrected", **settings)


def test_what_is_wrong_is_named():
    rng = np.random.default_rng(0)
    batch, net = make_batch(rng), {"0.weight": np.ones((3, 4))}
    with pytest.raises(fgsf.Error, match="no 'discount'"):
        fgsf.bellman(net, {k: v for k, v in batch.items() if k != "discount"})
    with pytest.raises(fgsf.Error, match="a has an action"):
        fgsf.bellman(net, {**batch, "a": np.full(16, 3)})
    with pytest.raises(fgsf.Error, match="'1.scale' is not of a linear layer"):
        fgsf.bellman({**net, "1.scale": np.ones(3)}, batch)
    with pytest.raises(fgsf.Error, match="gradient.kind"):
        fgsf.bellman(net, batch, kind="fulll")


def test_torch_sequential_by_name():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    batch = make_batch(np.random.default_rng(1))
    loss, gradients = fgsf.bellman(net, batch, kind="full")
    net = net.double()
    t = {k: torch.as_tensor(v) for k, v in batch.items()}
    delta = (t["y"] + t["discount"] * net(t["s_next"]).gather(1, t["a_next"][:, None])[:, 0]
             - net(t["s"]).gather(1, t["a"][:, None])[:, 0])
    expected = 0.5 * (delta ** 2).mean()
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    for name, parameter in net.named_parameters():
        assert np.allclose(gradients[name], parameter.grad.numpy(), atol=1e-5)
