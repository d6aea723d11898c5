"""What two devices exchange when an axis is cut is what the axis claims, to the byte.

XLA is told how inputs and outputs are cut, and works out the rest by itself. Where an axis divides
the work, it needs nothing else; where results are combined or values exchanged inside, it adds
reductions of just those bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

# Axes along which parts are independent, or are terms of a sum, but where XLA does it otherwise.
OTHERWISE = set(
    """
    AdaptiveMaxPool3D AdaptiveMaxPoolGrad CosineTransform CropAndResize CubicInterpolate
    DeformableOffsets Diagonal DynamicGRUV2 EqualCount FFTWithSize FloatStatus Gamma GatherD
    GatherDGrad GridSampler3D Igamma Igammac InplaceSub MaxUnpool3D MultinomialOnce ROIAlign
    RandomGamma ResizeArea STFT StandardGamma TensorScatterSub TopK UpsampleNearest3D
    UpsampleTrilinear3D
    """.split()
)


@pytest.mark.slow
def test_layers_exchange_what_their_axes_claim():
    found = _spread()
    assert len(found) > 60
    assert [one for one in found if not _as_claimed(one)] == []
    assert sum(one[3] > 0 for one in found) > 20


@pytest.mark.slow
def test_operators_exchange_what_their_axes_claim():
    found = _spread("every")
    assert len(found) > 600
    assert {one[0] for one in found if not _as_claimed(one)} == OTHERWISE


def _as_claimed(one: Any) -> bool:
    *_, claimed, found = one
    return found == ({"all-reduce": claimed} if claimed else {})


def _spread(*options: str) -> list[Any]:
    command = [sys.executable, "-m", "tests.ops.axes.spread", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
