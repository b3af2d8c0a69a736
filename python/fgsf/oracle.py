"""The Bellman error of a network and its gradient, to check another framework's backward pass."""
from __future__ import annotations

import re
from ctypes import POINTER, byref, c_double, c_float, c_int64, c_void_p, cast
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np

from ._lib import Batch, Config, Error, lib, pointer, vector


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
    if len({bool(b) for _, b in layers}) > 1:
        raise Error("bellman: some layers have a bias and some have none")
    return layers


class _Network:
    """The library's network with given parameters."""

    def __init__(self, config: Config, arrays: Mapping[str, np.ndarray], actions: int):
        layers = _layers(arrays)
        self.handle = c_void_p()
        outputs, self.input = arrays[layers[-1][0]].shape[0], arrays[layers[0][0]].shape[1]
        if outputs % actions:
            raise Error(f"bellman: {outputs} outputs do not divide among {actions} actions")
        self.features = outputs // actions
        lib.fgsf_python_network(config.memory, self.input, actions, self.features,
                                byref(self.handle))
        self.size = lib.fgsf_network_size(self.handle)
        flat = np.ctypeslib.as_array(cast(lib.fgsf_network_edit(self.handle), POINTER(c_float)),
                                     (self.size,))
        names = [name for pair in layers for name in pair if name]
        self.places = dict(zip(names, self._places()))
        for name, (offset, count) in self.places.items():
            flat[offset:offset + count] = vector(arrays[name], count, f"bellman: {name}")

    def _places(self) -> List[Tuple[int, int]]:
        places, place = [], (c_int64 * 3)()
        while lib.fgsf_python_parameter(self.handle, len(places), byref(place)):
            places.append((place[2], place[0] * place[1]))
        return places

    def __del__(self) -> None:
        lib.fgsf_network_free(self.handle)


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
    network of bidirectional and convergent, and optionally of semi; its gradient is not computed. The
    loss is 1/2 of the mean of |delta|^2 over pairs and features; loss_scale="mean" drops the half.
    Returns the loss and the gradients under the names of `net`. It is computed in single precision.
    """
    arrays = _arrays(net)
    layers = _layers(arrays)
    outputs = arrays[layers[-1][0]].shape[0]
    config = Config("", "clean", "fg-sfrql")
    config.update({"gradient.kind": kind, "net.activation": activation,
                   "net.bias": bool(layers[0][1]),
                   "net.hidden": [arrays[w].shape[0] for w, _ in layers[:-1]], **settings})
    network = _Network(config, arrays, num_actions or outputs)
    second = None if other is None else _Network(config, _arrays(other), num_actions or outputs)
    s = np.atleast_2d(np.asarray(batch["s"], np.float32))
    pairs, next_size = len(s), np.asarray(batch["s_next"]).size
    samples = next_size // (pairs * network.input)
    rows = pairs * samples

    def take(name: str, size: int, dtype: Any = np.float32) -> np.ndarray:
        if name not in batch:
            raise Error(f"bellman: the batch has no '{name}'")
        values = np.asarray(batch[name], dtype)
        if name == "a_next" and values.size == pairs:  # one action for all samples of a pair
            values = np.repeat(values, samples)
        return vector(values, size, f"bellman: {name}", dtype)

    held = [take("s", pairs * network.input), take("a", pairs, np.int32),
            take("y", rows * network.features), take("s_next", rows * network.input),
            take("a_next", rows, np.int32), take("discount", rows),
            take("weight", pairs) if "weight" in batch else None]
    actions = num_actions or outputs
    for name, array in (("a", held[1]), ("a_next", held[4])):
        if array.size and not (0 <= array.min() and array.max() < actions):
            raise Error(f"bellman: {name} has an action that is not in [0, {actions})")
    loss, gradient = c_double(), np.zeros(network.size, np.float32)
    lib.fgsf_python_bellman(config.memory, byref(Batch(pairs, *map(pointer, held), None, 0.0)),
                            samples, network.handle, second and second.handle, byref(loss),
                            pointer(gradient))
    return loss.value, {name: gradient[o:o + n].reshape(arrays[name].shape)
                        for name, (o, n) in network.places.items()}
