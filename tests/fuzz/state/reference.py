"""Small networks and optimizers in float64 NumPy, with gradients written out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = dict[str, np.ndarray]
EPSILON, KEPT = 1e-5, 0.9  # of batch normalization


class Layer:
    """A layer: its result with what the gradient needs, and the gradient of its input."""

    prefix = ""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        """The result, and what `backward` needs."""
        raise NotImplementedError

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        """The gradient of the input; those of parameters are put `into` a dict."""
        raise NotImplementedError

    def _of(self, state: Values, name: str) -> np.ndarray:
        return state[f"{self.prefix}{name}"]


class Dense(Layer):
    """x @ weight.T + bias."""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        return x @ self._of(state, "weight").T + self._of(state, "bias"), x

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        into[f"{self.prefix}weight"] = dy.T @ kept
        into[f"{self.prefix}bias"] = dy.sum(axis=0)
        return dy @ self._of(state, "weight")


class Tanh(Layer):
    """tanh(x)."""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        y = np.tanh(x)
        return y, y

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        return dy * (1 - kept**2)


class Flatten(Layer):
    """All axes but the first as one."""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        return x.reshape(len(x), -1), x.shape

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        return dy.reshape(kept)


class Embedding(Layer):
    """Rows of a table."""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        return self._of(state, "embedding_table")[x], x

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        gradient = np.zeros_like(self._of(state, "embedding_table"))
        np.add.at(gradient, kept, dy)
        into[f"{self.prefix}embedding_table"] = gradient
        return np.zeros(kept.shape)


class Convolution(Layer):
    """A convolution without padding, in steps of one."""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        weight = self._of(state, "weight")
        windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))
        y = np.einsum("nchwij,ocij->nohw", windows, weight)
        return y + self._of(state, "bias")[:, None, None], (x, windows)

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        (x, windows), weight = kept, self._of(state, "weight")
        into[f"{self.prefix}weight"] = np.einsum("nohw,nchwij->ocij", dy, windows)
        into[f"{self.prefix}bias"] = dy.sum(axis=(0, 2, 3))
        dx = np.zeros_like(x)
        height, width = dy.shape[2:]
        for i in range(weight.shape[2]):
            for j in range(weight.shape[3]):
                part = np.einsum("nohw,oc->nchw", dy, weight[:, :, i, j])
                dx[:, :, i : i + height, j : j + width] += part
        return dx


class Normalization(Layer):
    """Batch normalization, whose moving averages are written while training."""

    def forward(self, state: Values, x: np.ndarray, training: bool) -> tuple[np.ndarray, Any]:
        mean, variance = self._of(state, "moving_mean"), self._of(state, "moving_variance")
        if training:
            mean, variance = x.mean(axis=0), x.var(axis=0)
            unbiased = variance * len(x) / (len(x) - 1)
            for name, found in (("moving_mean", mean), ("moving_variance", unbiased)):
                key = f"{self.prefix}{name}"
                state[key] = KEPT * state[key] + (1 - KEPT) * found
        scale = 1 / np.sqrt(variance + EPSILON)
        normal = (x - mean) * scale
        y = normal * self._of(state, "gamma") + self._of(state, "beta")
        return y, (normal, scale, training)

    def backward(self, state: Values, dy: np.ndarray, kept: Any, into: Values) -> np.ndarray:
        normal, scale, training = kept
        into[f"{self.prefix}gamma"] = (dy * normal).sum(axis=0)
        into[f"{self.prefix}beta"] = dy.sum(axis=0)
        dnormal = dy * self._of(state, "gamma")
        if not training:
            return dnormal * scale
        centered = dnormal - dnormal.mean(axis=0) - normal * (dnormal * normal).mean(axis=0)
        return centered * scale


@dataclass(frozen=True)
class Stack:
    """Layers one after another; their parameters are called `0.weight` and so on."""

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        for number, layer in enumerate(self.layers):
            layer.prefix = f"{number}."

    def predicted(self, state: Values, x: np.ndarray, training: bool) -> np.ndarray:
        """The result; moving averages in `state` are replaced while training."""
        for layer in self.layers:
            x, _ = layer.forward(state, x, training)
        return x

    def gradients(self, state: Values, x: np.ndarray, y: np.ndarray, training: bool) -> Values:
        """The gradients of the mean squared error."""
        kept = []
        for layer in self.layers:
            x, one = layer.forward(state, x, training)
            kept.append(one)
        dy, found = 2 * (x - y) / x.size, {}
        for layer, one in zip(reversed(self.layers), reversed(kept), strict=True):
            dy = layer.backward(state, dy, one, found)
        return found


class Optimizer:
    """Updates a state in place, which also holds what the optimizer remembers."""

    def __init__(self, rate: float, decay: float = 0.0) -> None:
        self.rate, self.decay = rate, decay

    def step(self, state: Values, gradients: Values) -> None:
        """One step with the gradients of all trained parameters, in the state's order."""
        state["global_step"] = state["global_step"] + 1
        self.prepare(state)
        for name, gradient in gradients.items():
            decayed = 0.0 if "beta" in name or "gamma" in name else self.decay
            self.update(state, name, gradient + decayed * state[name])

    def prepare(self, state: Values) -> None:
        """What changes once a step."""

    def update(self, state: Values, name: str, gradient: np.ndarray) -> None:
        """The step of one parameter."""
        raise NotImplementedError


class Momentum(Optimizer):
    """Heavy-ball momentum of 0.9."""

    def update(self, state: Values, name: str, gradient: np.ndarray) -> None:
        moment = state[f"moments.{name}"] = 0.9 * state[f"moments.{name}"] + gradient
        state[name] = state[name] - self.rate * moment


class SGD(Optimizer):
    """The same with the first gradient taken as the first moment, in MindSpore's state."""

    def update(self, state: Values, name: str, gradient: np.ndarray) -> None:
        later = 0.9 * state[f"accum.{name}"] + gradient
        moment = np.where(state[f"stat.{name}"] > 0, gradient, later)
        state[f"accum.{name}"], state[f"stat.{name}"] = moment, np.zeros_like(moment)
        state[name] = state[name] - self.rate * moment


class Adam(Optimizer):
    """Kingma and Ba, 2015; `EPSILON` is large, so that rounding does not decide about signs."""

    EPSILON = 1e-2

    def prepare(self, state: Values) -> None:
        state["beta1_power"] = state["beta1_power"] * 0.9
        state["beta2_power"] = state["beta2_power"] * 0.999

    def update(self, state: Values, name: str, gradient: np.ndarray) -> None:
        first = state[f"moment1.{name}"] = 0.9 * state[f"moment1.{name}"] + 0.1 * gradient
        second = state[f"moment2.{name}"] = 0.999 * state[f"moment2.{name}"] + 0.001 * gradient**2
        rate = self.rate * np.sqrt(1 - state["beta2_power"]) / (1 - state["beta1_power"])
        state[name] = state[name] - rate * first / (np.sqrt(second) + self.EPSILON)


def trained(state: Values, frozen: Sequence[str], gradients: Values) -> Values:
    """The gradients as optimizers get them: zeros for parameters that need none."""
    return {n: g * 0 if n in frozen else g for n, g in gradients.items() if n in state}
