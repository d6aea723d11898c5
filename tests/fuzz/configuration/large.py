"""Sizes around the thresholds that only large arrays reach."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.fuzz.configuration.attention import attention_problem
from tests.fuzz.configuration.convolution import convolution_problem
from tests.fuzz.configuration.draws import around
from tests.fuzz.configuration.subject import Problem, Settings, Subject, Values

_IMAGES = {
    "group": 1,
    "strides": (1, 1),
    "dilation": (1, 1),
    "mode": "same",
    "padding": (0, 0, 0, 0),
    "has_bias": False,
    "channels_last": False,
}
_Square = tuple[int, int]


def _square(size: int) -> _Square:
    return (size, size)


def _draw_convolution(rng: random.Random) -> Settings:
    """Sums first for some images at a time; many copies; large weights; many depthwise numbers."""
    made = rng.choice((_at_a_time, _many_copies, _large_weight, _many_channels))(rng)
    return _IMAGES | made | {"channels_last": rng.random() < 0.3}


def _at_a_time(rng: random.Random) -> Settings:
    """From 96 to 144 thousand numbers of each part, with at least eight runs (`winograd`)."""
    batch, size = rng.choice(((64, 32), (56, 32), (48, 32), (256, 14)))
    return {"batch": batch, "inputs": 64, "outputs": 64, "kernel": (3, 3), "sizes": _square(size)}


def _many_copies(rng: random.Random) -> Settings:
    """About eight million numbers in columns or tiles (`convolving`)."""
    inputs = rng.choice((3, 4, 5))
    size = {3: 59, 4: 51, 5: 46}[inputs] + rng.choice((-1, 0, 1))
    sizes = {"kernel": (5, 5), "sizes": _square(size)}
    return {"batch": 32, "inputs": inputs, "outputs": rng.choice((6, 17))} | sizes


def _large_weight(rng: random.Random) -> Settings:
    """About 196,608 numbers of a weight (`convolving_native`)."""
    inputs, outputs = rng.choice(((341, 64), (342, 64), (170, 128), (171, 128)))
    sizes = {"kernel": (3, 3), "sizes": (5, around(rng, 16))}
    return {"batch": 2, "inputs": inputs, "outputs": outputs} | sizes


def _many_channels(rng: random.Random) -> Settings:
    """About four million numbers, each channel with its own kernel (`convolving_last`)."""
    channels = around(rng, 64)
    alone = {"inputs": channels, "outputs": channels, "group": channels, "kernel": (3, 3)}
    return alone | {"batch": 16, "sizes": _square(64), "strides": rng.choice(((1, 1), (2, 2)))}


def _convolution(settings: Settings, values: Values) -> Problem:
    return replace(convolution_problem(settings, values), order=1)


def _draw_attention(rng: random.Random) -> Settings:
    """More than 256 queries and about 16 million scores (`attention`)."""
    keys = (1 << 24) // 512 + rng.choice((-1, 0, 1))
    return {
        "batch": (),
        "queries": 512,
        "keys": keys,
        "size": 4,
        "values": 3,
        "causal": rng.choice(("", "left", "right")),
        "masked": False,
        "biased": False,
        "scaled": False,
    }


def _attention(settings: Settings, values: Values) -> Problem:
    return replace(attention_problem(settings, values), order=1)


SUBJECTS = (
    Subject("large convolution", "large sizes", _draw_convolution, _convolution),
    Subject("large attention", "large sizes", _draw_attention, _attention, dtypes=("float32",)),
)
