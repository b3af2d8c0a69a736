"""The Bellman error of a network and its gradient, to check another framework's backward pass."""
from __future__ import annotations

import re
from ctypes import byref, c_double
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np

from ._lib import Batch, Config, Error, Sizes, lib, pointer, vector


def _arrays(net: Any) -> Dict[str, np.ndarray]:
    """Parameters by name, from a mapping or from anything with named_parameters (PyTorch)."""
    items = net.items() if isinstance(net, Mapping) else net.named_parameters()
    return {name: np.asarray(p.detach().cpu().numpy() if hasattr(p, "detach") else p)
            for name, p in items}


def _layers(arrays: Mapping[str, np.ndarray]) -> List[Tuple[str, str]]:
    """The names of weight and bias ("" for none) of every layer, in order."""
    layers = [(name, re.sub(r"weight$", "bias", name)) for name in arrays
              if name.endswith("weight") and arrays[name].ndim == 2]
    if not layers:
        raise Error("bellman: the network has no matrix whose name ends in 'weight'")
    layers = [(w, b if b in arrays else "") for w, b in layers]
    known = {name for pair in layers for name in pair}
    for name in arrays:
        if name not in known:
            raise Error(f"bellman: parameter '{name}' is not of a linear layer")
    for (w, b), (last, _) in zip(layers, [layers[0], *layers]):
        if w != last and arrays[w].shape[1] != arrays[last].shape[0]:
            raise Error(f"bellman: {w} takes {arrays[w].shape[1]} numbers, {last} gives "
                        f"{arrays[last].shape[0]}")
        if b and arrays[b].shape != arrays[w].shape[:1]:
            raise Error(f"bellman: {b} has the shape {arrays[b].shape}, {w} {arrays[w].shape}")
    if len({bool(b) for _, b in layers}) > 1:
        raise Error("bellman: some layers have a bias and some have none")
    return layers


def _flat(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, Tuple[int, ...]]) -> np.ndarray:
    """The parameters one after the other, those of a layer as weight and bias."""
    if sorted(arrays) != sorted(shapes):
        raise Error(f"bellman: other= has the parameters {list(arrays)}, net {list(shapes)}")
    return np.concatenate([vector(arrays[name], int(np.prod(shape)), f"bellman: {name}")
                           for name, shape in shapes.items()])


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
    layers = _layers(arrays)
    shapes = {name: arrays[name].shape for pair in layers for name in pair if name}
    outputs, size = arrays[layers[-1][0]].shape[0], arrays[layers[0][0]].shape[1]
    actions = num_actions or outputs
    if outputs % actions:
        raise Error(f"bellman: {outputs} outputs do not divide among {actions} actions")
    config = Config("", "clean", "fg-sfrql")
    config.update({"gradient.kind": kind, "net.activation": activation,
                   "net.bias": bool(layers[0][1]),
                   "net.hidden": [arrays[w].shape[0] for w, _ in layers[:-1]], **settings})
    pairs = np.size(batch["s"]) // size
    samples = np.size(batch["s_next"]) // (pairs * size)
    rows, features = pairs * samples, outputs // actions

    def take(name: str, count: int, dtype: Any = np.float32) -> np.ndarray:
        if name not in batch:
            raise Error(f"bellman: the batch has no '{name}'")
        values = np.asarray(batch[name], dtype)
        if name == "a_next" and values.size == pairs:  # one action for all samples of a pair
            values = np.repeat(values, samples)
        if name[0] == "a" and values.size and not (0 <= values.min() and values.max() < actions):
            raise Error(f"bellman: {name} has an action that is not in [0, {actions})")
        return vector(values, count, f"bellman: {name}", dtype)

    held = [take("s", pairs * size), take("a", pairs, np.int32), take("y", rows * features),
            take("s_next", rows * size), take("a_next", rows, np.int32), take("discount", rows),
            take("weight", pairs) if "weight" in batch else None]
    values = _flat(arrays, shapes)
    second = None if other is None else _flat(_arrays(other), shapes)
    loss, found = c_double(), np.zeros((2, values.size), np.float32)
    lib.fgsf_python_bellman(
        config.memory, byref(Sizes(1, actions, features, size)),
        byref(Batch(pairs, *map(pointer, held))), samples, values.size, pointer(values),
        pointer(second), byref(loss), pointer(found))
    gradients, ends = {}, np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    for prefix, flat in (("", found[0]), ("other.", found[1])):
        if not prefix or kind in ("corrected", "gtd2"):
            pieces = zip(shapes.items(), np.split(flat, ends[:-1]))
            gradients.update({prefix + name: piece.reshape(shape) for (name, shape), piece in pieces})
    return loss.value, gradients
