"""fgsf.bellman beside PyTorch: the stored answers in float64, and torch itself where it is."""
import json

import numpy as np
import pytest

import fgsf


def parameters(stored, network):
    """A stored network's matrices (out, in) and biases under the names of a torch.nn.Sequential."""
    widths = [network["input"], *network["hidden"]]
    net = {f"{2 * i}.weight": np.reshape(w, (-1, widths[i])) for i, w in enumerate(stored["weights"])}
    net.update({f"{2 * i}.bias": np.array(b) for i, b in enumerate(stored.get("biases", []))})
    return net


@pytest.mark.parametrize("name", [
    "gradients/full", "gradients/semi", "gradients/mix", "gradients/critic_only", "gradients/split",
    "gradient-kinds/corrected", "gradient-kinds/gtd2", "gradient-kinds/bidirectional",
    "gradient-kinds/convergent"])
def test_equals_pytorch_in_float64(golden, name):
    p = json.loads((golden / f"{name}.json").read_text())
    answer = json.loads((golden / f"{name}.expected.json").read_text())
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


def make_batch(rng, rows=16, size=4, actions=3):
    return {"s": rng.normal(size=(rows, size)), "a": rng.integers(actions, size=rows),
            "y": rng.normal(size=rows), "s_next": rng.normal(size=(rows, size)),
            "a_next": rng.integers(actions, size=rows), "discount": np.full(rows, 0.9)}


def test_full_is_the_numerical_derivative_of_the_loss():
    rng = np.random.default_rng(0)
    net = {"w0.weight": rng.normal(size=(8, 4)), "w0.bias": rng.normal(size=8),
           "w1.weight": rng.normal(size=(3, 8)), "w1.bias": rng.normal(size=3)}
    batch, settings = make_batch(rng), {"activation": "softplus"}
    _, gradients = fgsf.bellman(net, batch, **settings)
    for name, direction in ((k, rng.normal(size=v.shape)) for k, v in net.items()):
        f = [fgsf.bellman({**net, name: net[name] + 1e-2 * k * direction}, batch, **settings)[0]
             for k in (-2, -1, 1, 2)]
        slope = (8 * (f[2] - f[1]) - (f[3] - f[0])) / 12e-2  # exact to the fourth order
        assert slope == pytest.approx(np.sum(gradients[name] * direction), rel=1e-3, abs=5e-4)


def test_what_is_wrong_is_named():
    batch, net = make_batch(np.random.default_rng(0)), {"0.weight": np.ones((3, 4))}
    for wrong, arguments in (
            ("no 'discount'", (net, {k: v for k, v in batch.items() if k != "discount"})),
            ("a has an action", (net, {**batch, "a": np.full(16, 3)})),
            ("'1.scale' is not of a linear layer", ({**net, "1.scale": np.ones(3)}, batch)),
            ("takes 5 numbers, 0.weight gives 3", ({**net, "2.weight": np.ones((3, 5))}, batch)),
            ("0.bias has the shape", ({**net, "0.bias": np.ones(4)}, batch)),
            ("gradient.kind", (net, batch, "fulll")), ("network", (net, batch, "corrected"))):
        with pytest.raises(fgsf.Error, match=wrong):
            fgsf.bellman(*arguments)


@pytest.mark.parametrize("kind", ["semi", "full", "corrected"])
def test_torch_sequential_by_name(kind):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net, h = (torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
              for _ in range(2))
    batch = make_batch(np.random.default_rng(1))
    loss, gradients = fgsf.bellman(net, batch, kind, other=h if kind == "corrected" else None)
    net, h = net.double(), h.double()
    t = {k: torch.as_tensor(v) for k, v in batch.items()}
    x, error = (n(t["s"]).gather(1, t["a"][:, None])[:, 0] for n in (net, h))
    x_next = t["discount"] * net(t["s_next"]).gather(1, t["a_next"][:, None])[:, 0]
    delta = t["y"] + x_next - x
    fixed = delta.detach()
    surrogate = {"semi": -fixed * x, "full": 0.5 * delta ** 2,
                 "corrected": error.detach() * x_next - fixed * x + 0.5 * (fixed - error) ** 2}
    surrogate[kind].mean().backward()
    assert loss == pytest.approx(0.5 * (fixed ** 2).mean().item(), rel=1e-5)
    names = {**dict(net.named_parameters()),
             **{f"other.{k}": v for k, v in h.named_parameters() if kind == "corrected"}}
    assert gradients.keys() == names.keys()
    for name, parameter in names.items():
        assert np.allclose(gradients[name], parameter.grad.numpy(), atol=1e-6), name
