"""Internal names of MindSpore that scripts import: they work, or say at their use that they lack."""

from importlib import import_module

import numpy as np
import pytest

import mycelia
from mycelia import Tensor, nn, ops
from mycelia.compat import install
from mycelia.compat.importer import uninstall
from mycelia.rewrite import SymbolTree


@pytest.fixture(autouse=True)
def alias():
    install()
    yield
    uninstall()


# ---- names that are missing ---------------------------------------------------------------------


def test_importing_a_missing_internal_name_succeeds_and_calling_it_raises():
    from mindspore.ops._nothing import _absent

    with pytest.raises(ImportError, match=r"mindspore\.ops\._nothing\._absent: Mycelia does not"):
        _absent(1)


def test_a_missing_internal_name_cannot_be_subclassed_or_asked():
    from mindspore.train.callback._absent import _Base

    with pytest.raises(ImportError, match="_Base"):

        class Mine(_Base):
            pass

    with pytest.raises(AttributeError, match=r"_Base\.mode: Mycelia does not"):
        _ = _Base.mode


def test_a_script_that_is_prepared_for_an_error_gets_it():
    try:
        from mindspore.ops._nothing import _absent
    except ImportError:
        _absent = None
    assert _absent is None


def test_a_missing_public_name_of_a_public_module_is_an_error_at_once():
    with pytest.raises(ImportError, match="Densee"):
        from mindspore.nn import Densee  # noqa: F401


def test_a_module_is_not_hidden_by_the_function_of_its_name():
    import mindspore.common.initializer as init
    from mindspore.common import initializer

    assert init is initializer
    assert initializer.initializer(initializer.Normal(), [2]).shape == (2,)


def test_importing_a_submodule_does_not_hide_the_function_of_its_name():
    import_module("mindspore.common.mutable")
    from mindspore.common import mutable

    assert mutable is mycelia.mutable


# ---- names that work ----------------------------------------------------------------------------


def test_checks_of_arguments():
    from mindspore import _checkparam as checks
    from mindspore._checkparam import Rel, Validator, twice

    assert twice(3) == (3, 3) and twice((1, 2)) == (1, 2)
    assert checks.check_positive_int(3, "size", "Layer") == 3
    assert Validator.check_float_range(0.5, 0.0, 1.0, Rel.INC_BOTH, "rate", "Layer") == 0.5
    with pytest.raises(ValueError, match="'size' must be int and must > 0"):
        checks.check_positive_int(0, "size", "Layer")
    with pytest.raises(TypeError, match="'size' must be int"):
        checks.check_is_int(True, "size", "Layer")
    with pytest.raises(ValueError, match=r"in range of \(0.0, 1.0\]"):
        checks.check_float_range(0.0, 0.0, 1.0, checks.INC_RIGHT, "rate", "Layer")
    with pytest.raises(TypeError, match="'name' must be str"):
        checks.check_value_type("name", 3, [str], "Layer")


def test_a_list_of_callbacks_passes_events_on():
    from mindspore.train.callback import Callback, _CallbackManager, _InternalCallbackParam

    heard = []

    class Listener(Callback):
        def begin(self, run_context):
            heard.append(("begin", run_context.cur_step_num))

        def on_train_step_end(self, run_context):
            heard.append(("step", run_context.cur_step_num))

    facts = _InternalCallbackParam()
    facts.cur_step_num = 4
    with _CallbackManager([Listener()]) as callbacks:
        callbacks.begin(facts)
        callbacks.on_train_step_end(facts)
    assert heard == [("begin", 4), ("step", 4)]


def test_fans_and_gains():
    from mindspore.common.initializer import (
        _assignment,
        _calculate_correct_fan,
        _calculate_fan_in_and_fan_out,
        _calculate_gain,
    )

    assert _calculate_fan_in_and_fan_out((8, 4, 3, 3)) == (36, 72)
    assert _calculate_correct_fan((8, 4, 3, 3), "fan_out") == 72
    assert _calculate_gain("leaky_relu", 1.0) == pytest.approx(1.0)
    array = np.zeros((2, 2))
    _assignment(array, 3)
    assert array.tolist() == [[3, 3], [3, 3]]


def test_settings_of_parallel_training_as_functions():
    from mindspore.parallel._auto_parallel_context import auto_parallel_context
    from mindspore.parallel._utils import _get_device_num, _get_gradients_mean, _get_parallel_mode

    assert (_get_device_num(), _get_gradients_mean()) == (1, False)
    assert _get_parallel_mode() == "stand_alone"
    auto_parallel_context().set_gradients_mean(True)
    try:
        assert auto_parallel_context().get_gradients_mean() and _get_gradients_mean()
    finally:
        mycelia.reset_auto_parallel_context()


@pytest.mark.parametrize("mode", [mycelia.PYNATIVE_MODE, mycelia.GRAPH_MODE])
def test_gradient_operators_are_called_directly(mode):
    from mindspore.ops.operations import _grad_ops as G

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu_grad = G.ReluGrad()
            self.sigmoid_grad = G.SigmoidGrad()

        def construct(self, x, y, g):
            return self.relu_grad(g, x), self.sigmoid_grad(y, g)

    x, y, g = Tensor([-1.0, 2.0]), Tensor([0.25, 0.5]), Tensor([4.0, 4.0])
    mycelia.set_context(mode=mode)
    relu, sigmoid = Net()(x, y, g)
    assert relu.asnumpy().tolist() == [0, 4] and sigmoid.asnumpy().tolist() == [0.75, 1.0]


def test_the_gradient_of_a_pool_goes_to_its_maximum():
    from mindspore.ops.operations._grad_ops import MaxPoolGrad

    x = Tensor(np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2))
    out, g = ops.MaxPool(2, 2)(x), Tensor(np.full((1, 1, 1, 1), 5, np.float32))
    assert MaxPoolGrad(2, 2)(x, out, g).asnumpy().ravel().tolist() == [0, 0, 0, 5]


def test_compiling_without_running():
    from mindspore.common.api import _cell_graph_executor

    layer = nn.Dense(3, 2)
    _, is_compiled = _cell_graph_executor.compile(layer, Tensor(np.ones((4, 3), np.float32)))
    assert is_compiled
    with pytest.raises(ValueError, match="in_channels|Dense|MatMul"):
        _cell_graph_executor.compile(layer, Tensor(np.ones((4, 5), np.float32)))


def test_derivatives_as_cells():
    from mindspore.nn.grad import Jvp, Vjp

    class Square(nn.Cell):
        def construct(self, x):
            return x * x

    x = Tensor([2.0, 3.0])
    for cell in (Jvp(Square()), Vjp(Square())):
        value, derivative = cell(x, Tensor([1.0, 2.0]))
        assert value.asnumpy().tolist() == [4, 9]
        assert derivative.asnumpy().tolist() == [4, 12]


def test_casts_written_into_a_network():
    from mindspore.train.amp import (
        AMP_WHITE_LIST,
        _insert_cast_for_operators,
        _remove_duplicated_cast,
    )

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(4, 4), nn.Dense(4, 4)
            self.relu = nn.Sigmoid()

        def construct(self, x):
            x = self.first(x)
            x = self.second(x)
            x = self.relu(x)
            return x

    network = Net()
    x = Tensor(np.full((1, 4), 0.1, np.float32))
    expected = network(x).asnumpy()
    tree = SymbolTree.create(network)
    _insert_cast_for_operators(tree, mycelia.float16, False, white_list=AMP_WHITE_LIST)
    assert tree.get_code().count("CastTo") == 4
    _remove_duplicated_cast(tree, mycelia.float16)
    assert tree.get_code().count("CastTo") == 2
    found = tree.get_network()(x)
    assert found.dtype is mycelia.float32
    np.testing.assert_allclose(found.asnumpy(), expected, atol=2e-3)


def test_accumulating_gradients_by_operators():
    from mindspore.boost.grad_accumulation import gradient_accumulation_op, gradient_clear_op

    total = mycelia.Parameter(Tensor([1.0, 1.0]), name="total")
    gradient_accumulation_op(2, total, Tensor([2.0, 4.0]))
    assert total.asnumpy().tolist() == [2, 3]
    gradient_clear_op(total)
    assert total.asnumpy().tolist() == [0, 0]


def test_arguments_of_optimizers_are_kept():
    from mindspore.nn.optim.optimizer import opt_init_args_register

    class Mine(nn.Optimizer):
        @opt_init_args_register
        def __init__(self, params, learning_rate=0.1, beta=0.9):
            super().__init__(learning_rate, params)

    weight = mycelia.Parameter(Tensor([1.0]), name="w")
    optimizer = Mine([weight], 0.5)
    assert optimizer.init_learning_rate == 0.5
    assert optimizer.init_params == {"params": [weight]}
    assert optimizer.init_args == {"beta": 0.9}


def test_formats_of_kernels():
    from mindspore.ops import DataType

    assert DataType.F16_Default == ("float16", "DefaultFormat")
    assert DataType.F32_5HD == ("float32", "NC1HWC0")


def test_numbers_of_eight_bits_are_stored_and_cast():
    from mindspore import float8_e5m2

    x = Tensor(np.array([1.5, 300.0, -2.3], np.float32)).astype(float8_e5m2)
    assert x.dtype is float8_e5m2
    assert x.astype(mycelia.float32).asnumpy().tolist() == [1.5, 320.0, -2.5]


def test_types_of_the_core():
    from mindspore._c_expression import typing
    from mindspore._c_expression.security import enable_security

    assert isinstance(mycelia.float16, typing.Float) and not isinstance(mycelia.int8, typing.Float)
    assert isinstance(mycelia.int8, typing.Number) and not enable_security()


def test_attention_with_weights_given():
    from mindspore.ops.function.nn_func import multi_head_attention_forward

    layer = nn.MultiheadAttention(8, 2)
    x = Tensor(np.random.default_rng(0).normal(size=(5, 2, 8)).astype(np.float32))
    expected = layer(x, x, x)
    found = multi_head_attention_forward(
        x, x, x, 8, 2, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0,
        layer.out_proj.weight, layer.out_proj.bias,
    )  # fmt: skip
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=1e-6)


def test_modules_of_the_data_pipeline():
    from mindspore.dataset.context import set_seed
    from mindspore.dataset.core.validator_helpers import INT32_MAX, check_value, type_check
    from mindspore.dataset.vision.transforms import Resize

    assert Resize is mycelia.dataset.vision.Resize and callable(set_seed)
    assert INT32_MAX == 2**31 - 1
    check_value(3, (1, 5), "size")
    with pytest.raises(ValueError, match="size"):
        check_value(9, (1, 5), "size")
    with pytest.raises(TypeError, match="size"):
        type_check("a", (int,), "size")


def test_older_resizing_has_its_size_as_a_field():
    from mindspore.ops import ResizeBilinear

    x = Tensor(np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2))
    found = ResizeBilinear((3, 3), align_corners=True)(x).asnumpy()
    np.testing.assert_allclose(found[0, 0], [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]])


def test_names_of_other_packages_under_their_paths_in_mindspore():
    import mindspore as ms
    from mindspore import mint, multiprocessing, nn
    from mindspore.train import TrainFaultTolerance

    assert issubclass(TrainFaultTolerance, ms.train.Callback)
    assert multiprocessing.Queue is not None and callable(ms.synchronize)
    assert nn.Linear(3, 2)(Tensor(np.ones((1, 3), np.float32))).shape == (1, 2)
    assert mint.hstack((Tensor([1]), Tensor([2]))).asnumpy().tolist() == [1, 2]
    assert mint.gcd(Tensor([4]), Tensor([6])).asnumpy().tolist() == [2]


def test_gradients_of_pools_and_traces_by_their_operators():
    from mindspore.ops.operations import _grad_ops as gradients

    x = Tensor(np.random.default_rng(0).random((1, 1, 4, 4, 4)).astype(np.float32))
    pool = ops.MaxPool3D(2, 2)
    wanted = mycelia.grad(pool)(x).asnumpy()
    for size in (2, (1, 1, 2, 2, 2)):
        found = gradients.MaxPool3DGrad(size, size)(x, pool(x), ops.ones_like(pool(x)))
        np.testing.assert_allclose(found.asnumpy(), wanted)
    image = x[0]
    values, places = ops.MaxPoolWithArgmax(2, 2)(image)
    found = gradients.MaxPoolGradWithArgmax(2, 2)(image, ops.ones_like(values), places)
    np.testing.assert_allclose(found.asnumpy(), mycelia.grad(ops.MaxPool(2, 2))(image).asnumpy())
    trace = gradients.TraceGrad()(Tensor(2.0), Tensor([2, 3]))
    assert trace.asnumpy().tolist() == [[2, 0, 0], [0, 2, 0]]
