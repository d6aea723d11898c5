"""Which options programs are compiled with."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.runtime.xla.compile import options

QUICK = "xla_cpu_use_fusion_emitters"


@pytest.mark.parametrize(
    ("net", "shape", "is_quick"),
    [
        (nn.Conv2d(1, 2, 3), (1, 1, 8, 8), True),
        (nn.Conv2d(1, 8, 3), (8, 1, 128, 128), False),
        (nn.Dense(4, 4), (2, 4), False),
    ],
    ids=["small images", "large images", "no images"],
)
def test_small_images_compile_quickly(net, shape, is_quick):
    run = ms.jit(lambda x: net(x))
    run(Tensor(np.ones(shape, np.float32)))
    graph = next(iter(run.compiled.entries.values())).read.program.graph
    assert (QUICK in options(graph)) is is_quick
