"""Operators that users write."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia.ops import PrimitiveWithInfer, prim_attr_register


class Scale(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self, factor=2.0, shift=0.0):
        self.init_prim_io_names(inputs=["x"], outputs=["output"])

    def infer_shape(self, x_shape):
        return x_shape

    def infer_dtype(self, x_dtype):
        return x_dtype

    def lower(self, x):
        return jnp.sin(x) * self.factor + self.shift


def test_attributes_are_registered():
    scale = Scale(3.0)
    assert scale.name == "Scale" and scale.factor == 3.0 and scale.shift == 0.0
    assert scale.init_attrs == {"factor": 3.0, "shift": 0.0}
    assert scale.attrs["input_names"] == ("x",)
    assert "factor=3.0" in repr(scale)
    assert isinstance(scale, ops.Primitive) and isinstance(ops.ReLU(), ops.Primitive)


def test_a_user_operator_runs_and_differentiates():
    x = Tensor([0.5, 1.0])
    np.testing.assert_allclose(Scale(3.0)(x).asnumpy(), 3 * np.sin([0.5, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(Scale(2.0)(x).asnumpy(), 2 * np.sin([0.5, 1.0]), rtol=1e-6)
    grad = ms.grad(ms.grad(lambda x: Scale(3.0)(x)))(x)
    np.testing.assert_allclose(grad.asnumpy(), -3 * np.sin([0.5, 1.0]), rtol=1e-6)


def test_its_own_gradient():
    class Tenfold(Scale):
        def bprop(self, x, out, dout):
            return (dout * 10,)

    assert ms.grad(Tenfold())(Tensor([1.0])).asnumpy().tolist() == [10]


def test_an_operator_without_kernel_says_so():
    class Empty(PrimitiveWithInfer):
        @prim_attr_register
        def __init__(self):
            pass

        def infer_shape(self, x):
            return x

        def infer_dtype(self, x):
            return x

    with pytest.raises(RuntimeError, match="has no kernel"):
        Empty()(Tensor([1.0]))


def test_custom_python_functions():
    double = ops.Custom(
        lambda x: np.asarray(x) * 2,
        out_shape=lambda x: x,
        out_dtype=lambda x: x,
        func_type="pyfunc",
        bprop=lambda x, out, dout: (dout * 2,),
    )
    assert double(Tensor([1.0, 2.0])).asnumpy().tolist() == [2, 4]
    assert ms.grad(lambda x: double(x * 3))(Tensor([1.0])).asnumpy().tolist() == [6]


def test_custom_jax_functions_have_gradients():
    cube = ops.Custom(lambda x: x**3, func_type="jax")
    assert ms.grad(ms.grad(lambda x: cube(x)))(Tensor(2.0)).asnumpy() == 12


def test_marks_are_part_of_the_identity():
    plain, marked = ops.ReLU(), ops.ReLU().add_prim_attr("stage", 1)
    assert plain == ops.ReLU() and plain != marked and hash(plain) != hash(marked)
    assert ops.MatMul(transpose_b=True) != ops.MatMul()
    assert marked.del_prim_attr("stage") == plain
    assert plain.set_stage(2).recompute().set_prim_instance_name("r").attrs == {
        "stage": 2,
        "recompute": True,
        "instance_name": "r",
    }
    cut = ops.MatMul().shard(((2, 1), (1, 4)))
    assert cut.attrs["in_strategy"] == ((2, 1), (1, 4))
    with pytest.raises(TypeError, match="in_strategy must be tuple type"):
        ops.MatMul().shard([[2, 1]])


def test_hyper_map_and_multitype_functions():
    add = ops.MultitypeFuncGraph("add")

    @add.register("Tensor", "Tensor")
    def _(a, b):
        return a + b

    @add.register("Number", "Number")
    def _(a, b):
        return a * b

    mapped = ops.HyperMap(add)((Tensor(1.0), (2, 3)), (Tensor(4.0), (5, 6)))
    assert float(mapped[0]) == 5 and mapped[1] == (10, 18)
    assert ops.HyperMap()(lambda a: a + 1, [1, (2, 3)]) == (2, (3, 4))
    assert ops.Map()(lambda a: len(a), [(1, 2), (3,)]) == (2, 1)
    with pytest.raises(ValueError, match="cannot find fn match given args"):
        add("a", "b")
    add.register_default()(lambda *args: "default")
    assert add("a", "b") == "default"


def test_numbers_that_are_equal_but_not_alike_are_different_operators():
    assert ops.LinSpace() == ops.LinSpace()
    assert Scale(1) != Scale(1.0) and Scale(True) != Scale(1)
    matrix = Tensor(np.ones((200, 100), np.float32))
    with pytest.raises(TypeError):
        ops.ReduceSum()(matrix, 1.0)
    assert ops.ReduceSum()(matrix, 1).shape == (200,)
    with pytest.raises(TypeError):
        ops.ReduceSum()(matrix, 1.0)


def test_none_and_lists_are_not_tensors():
    x = Tensor([1.0, 2.0])
    for wrong in (None, [1, 2]):
        with pytest.raises(TypeError):
            ops.add(wrong, x)
    with pytest.raises(TypeError):
        ops.Sqrt()(None)
