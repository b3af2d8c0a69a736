"""The Bellman error of a network and its gradient, to check another framework's backward pass."""
from __future__ import annotations

from ctypes import byref, c_double, c_size_t, c_void_p
from typing import Any, Dict, Mapping, Tuple

import numpy as np

from ._lib import Config, Error, Sizes, lib, pointer, vector


def _arrays(net: Any) -> Dict[str, np.ndarray]:
    """Parameters by name, from a mapping or from anything with named_parameters (PyTorch)."""
    items = net.items() if isinstance(net, Mapping) else net.named_parameters()
    return {name: np.asarray(p.detach().cpu().numpy() if hasattr(p, "detach") else p)
            for name, p in items}


def _shapes(arrays: Mapping[str, np.ndarray]) -> Dict[str, Tuple[int, ...]]:
    """What the parameters must be, in the library's order: linear layers one after the other."""
    matrices = [name for name in arrays if name.endswith("weight") and arrays[name].ndim == 2]
    if not matrices:
        raise Error("bellman: the network has no matrix whose name ends in 'weight'")
    shapes: Dict[str, Tuple[int, ...]] = {}
    size = arrays[matrices[0]].shape[1]
    for name in matrices:
        shapes[name] = (arrays[name].shape[0], size)
        if len(arrays) > len(matrices):
            shapes[name[:-len("weight")] + "bias"] = shapes[name][:1]
        size = arrays[name].shape[0]
    return shapes


def _flat(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, Tuple[int, ...]]) -> np.ndarray:
    """The parameters one after the other."""
    for name in {**arrays, **shapes}:
        found = arrays[name].shape if name in arrays else None
        if found != shapes.get(name):
            raise Error(f"bellman: parameter '{name}' has the shape {found}, but the layers before "
                        f"and beside it need {shapes.get(name)}")
    return np.concatenate([np.asarray(arrays[name], np.float32).reshape(-1) for name in shapes])


def bellman(net: Any, batch: Mapping[str, Any], kind: str = "full", num_actions: int = 0,
            other: Any = None, activation: str = "relu",
            **settings: Any) -> Tuple[float, Dict[str, np.ndarray]]:
    """Loss and gradients of the Bellman error delta = mean_p(y + discount x(s', a')) - x(s, a).

    `net` is a torch.nn.Sequential of Linear layers (any module whose parameters are theirs, in order)
    or a mapping from names to arrays: "0.weight" (out, in), "0.bias", ... Its outputs are (actions,
    features), features fastest; with one feature it is a DQN.

    `batch` holds s (B, input), a (B), y (B[, n], features) or (B) rewards, s_next (B[, n], input),
    a_next (B[, n]) and discount (B[, n]); optionally weight (B). n is the number of next states
    that are averaged.

    `kind` is a gradient.kind of docs/config.md: semi, full, mix (with gradient_eta), corrected, ... `other`
    is the network that it needs beside `net`: the error network h of corrected and gtd2, the target
    network of bidirectional and convergent, and optionally of semi. The loss is 1/2 of the mean of
    |delta|^2 over pairs and features; loss_scale="mean" drops the half. Returns the loss and the
    gradients under the names of `net`; those of an error network, which descends its own loss on
    |delta - h|^2, are there too, as "other." + name. It is computed in single precision.
    """
    arrays = _arrays(net)
    shapes = _shapes(arrays)
    values = _flat(arrays, shapes)
    second = None if other is None else _flat(_arrays(other), shapes)
    widths = [shape for shape in shapes.values() if len(shape) == 2]
    outputs, size = widths[-1][0], widths[0][1]
    actions = num_actions or outputs
    if outputs % actions:
        raise Error(f"bellman: {outputs} outputs do not divide among {actions} actions")
    config = Config(**{"gradient.kind": kind, "net.activation": activation,
                       "net.bias": len(shapes) > len(widths),
                       "net.hidden": [rows for rows, _ in widths[:-1]], **settings})
    pairs = np.size(batch["s"]) // size
    samples = np.size(batch["s_next"]) // (pairs * size)
    rows, features = pairs * samples, outputs // actions

    def take(name: str, count: int, dtype: Any = np.float32) -> np.ndarray:
        if batch.get(name) is None:
            raise Error(f"bellman: the batch has no '{name}'")
        values = np.asarray(batch[name], dtype)
        if name == "a_next" and values.size == pairs:  # one action for all samples of a pair
            values = np.repeat(values, samples)
        if name[0] == "a" and values.size and not (0 <= values.min() and values.max() < actions):
            raise Error(f"bellman: {name} has an action that is not in [0, {actions})")
        return vector(values, count, f"bellman: {name}", dtype)

    held = [take("s", pairs * size), take("a", pairs, np.int32), take("y", rows * features),
            take("s_next", rows * size), take("a_next", rows, np.int32), take("discount", rows),
            take("weight", pairs) if batch.get("weight") is not None else None]
    loss, found = c_double(), np.zeros((2, values.size), np.float32)
    lib.fgsf_python_bellman(
        config.memory, byref(Sizes(1, actions, features, size)), pairs, samples,
        (c_void_p * 7)(*map(pointer, held)), c_size_t(values.size), pointer(values),
        pointer(second), byref(loss), pointer(found))
    gradients, ends = {}, np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    for prefix, flat in zip(("", "other.") if kind in ("corrected", "gtd2") else ("",), found):
        for (name, shape), piece in zip(shapes.items(), np.split(flat, ends[:-1])):
            gradients[prefix + name] = piece.reshape(shape)
    return loss.value, gradients
