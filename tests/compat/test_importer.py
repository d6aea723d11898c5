"""`import mindspore` served by Mycelia: paths old and new, missing names, order of installation."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

import mycelia
from mycelia import nn, ops
from mycelia.compat import install
from mycelia.compat.importer import uninstall
from mycelia.compat.modules import known_paths, targets
from mycelia.train import train_thor


@pytest.fixture(autouse=True)
def alias():
    install()
    yield
    uninstall()


@pytest.mark.parametrize(
    ("path", "name", "ours"),
    [
        ("mindspore", "Tensor", mycelia.Tensor),
        ("mindspore", "ms_function", mycelia.ms_function),
        ("mindspore.nn", "Dense", nn.Dense),
        ("mindspore.ops.operations", "MatMul", ops.MatMul),
        ("mindspore.ops.functional", "relu", ops.relu),
        ("mindspore.ops.composite", "GradOperation", mycelia.GradOperation),
        ("mindspore.common", "Parameter", mycelia.Parameter),
        ("mindspore.common.tensor", "Tensor", mycelia.Tensor),
        ("mindspore.common.parameter", "Parameter", mycelia.Parameter),
        ("mindspore.common.dtype", "float16", mycelia.float16),
        ("mindspore.common.initializer", "Normal", mycelia.initializer.Normal),
        ("mindspore.context", "set_context", mycelia.set_context),
        ("mindspore.nn.optim.momentum", "Momentum", nn.Momentum),
        ("mindspore.train.train_thor", "ConvertNetUtils", train_thor.ConvertNetUtils),
        ("mindspore.nn.loss.loss", "MSELoss", nn.MSELoss),
        (
            "mindspore.nn.wrap.loss_scale",
            "TrainOneStepWithLossScaleCell",
            nn.TrainOneStepWithLossScaleCell,
        ),
        ("mindspore.train.serialization", "load_checkpoint", mycelia.load_checkpoint),
    ],
)
def test_paths(path, name, ours):
    assert getattr(import_module(path), name) is ours


def test_all_known_paths_import():
    for path in known_paths():
        if targets(path):
            assert isinstance(import_module(path), ModuleType)


def test_from_import_of_modules():
    from mindspore import context, dtype
    from mindspore.common import dtype as mstype
    from mindspore.ops import operations as P

    assert mstype.float32 is dtype.float32 is mycelia.float32
    assert P.ReLU is ops.ReLU and context.GRAPH_MODE == mycelia.GRAPH_MODE


def test_attributes_without_import_of_the_submodule():
    import mindspore

    assert mindspore.ops.operations.Add is ops.Add
    assert mindspore.__version__.split(".")[0] == "2"


def test_star_import():
    space: dict[str, object] = {}
    exec("from mindspore.nn import *", space)
    assert space["Conv2d"] is nn.Conv2d


def test_a_missing_name_says_the_closest():
    import mindspore.nn

    with pytest.raises(AttributeError, match=r"mindspore.nn.Densee: .*\n.*mindspore.nn.Dense"):
        mindspore.nn.Densee
    with pytest.raises(ImportError, match=r"mindspore.nn.Densee: .*\n.*mindspore.nn.Dense"):
        from mindspore.nn import Densee  # noqa: F401
    assert not hasattr(mindspore.nn, "Densee")


def test_a_missing_module_says_the_closest():
    with pytest.raises(ModuleNotFoundError, match=r"mindspore.ops.operatons'.*\n.*ops.operations"):
        import_module("mindspore.ops.operatons")


def test_dir_lists_our_names():
    import mindspore.nn

    assert {"Dense", "Conv2d"} <= set(dir(mindspore.nn))


def test_a_program_in_both_names():
    import mindspore as ms

    x = ms.Tensor(np.ones((2, 3)), ms.float32)
    assert isinstance(x, mycelia.Tensor)
    assert ms.ops.ReduceSum()(x).asnumpy() == mycelia.ops.ReduceSum()(x).asnumpy() == 6


def test_the_real_one_first_is_refused():
    code = (
        "import sys, types; sys.modules['mindspore'] = types.ModuleType('mindspore')\n"
        "import mycelia.compat.mindspore"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "already imported" in run.stderr


def test_installing_twice_is_one():
    install()
    install()
    assert sum(type(finder).__name__ == "Finder" for finder in sys.meta_path) == 1
