"""Buffers, states, dtypes and small methods of Cell, Parameter and Primitive."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia.nn.state_dict import register_cell_buffer_registration_hook


class Shifted(nn.Cell):
    """A layer and two buffers, one of which is part of the state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("shift", Tensor([1.0, 2.0]))
        self.register_buffer("scratch", Tensor([3.0]), persistent=False)
        self.inner = nn.Dense(2, 2)

    def construct(self, x):
        return self.inner(x) + self.shift


class Counting(nn.Cell):
    """A cell with state that is no tensor."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


X = Tensor(np.ones((1, 2), np.float32))


def test_buffers():
    net = Shifted()
    assert [name for name, _ in net.named_buffers()] == ["shift", "scratch"]
    assert [b.shape for b in net.buffers()] == [(2,), (1,)]
    assert net.get_buffer("shift") is net.shift
    assert [p.name for p in net.get_parameters()] == ["inner.weight", "inner.bias"]
    outer = nn.SequentialCell(net)
    assert [name for name, _ in outer.named_buffers()] == ["0.shift", "0.scratch"]
    assert outer.get_buffer("0.shift") is net.shift
    assert list(outer.buffers(recurse=False)) == []


def test_a_buffer_counts_in_both_modes_and_may_be_replaced():
    net = Shifted()
    plain = net.inner(X).asnumpy()
    for value in ([1.0, 2.0], [5.0, 6.0]):
        net.shift = Tensor(value)
        np.testing.assert_allclose(net(X).asnumpy(), plain + value, rtol=1e-6)
        np.testing.assert_allclose(net.compile_and_run(X).asnumpy(), plain + value, rtol=1e-6)
    assert net.get_buffer("shift").tolist() == [5.0, 6.0]


def test_wrong_buffers():
    net = Shifted()
    for name, error in (("a.b", KeyError), ("", KeyError), ("inner", KeyError), (3, TypeError)):
        with pytest.raises(error):
            net.register_buffer(name, Tensor([1.0]))
    with pytest.raises(TypeError, match="buffer 'e'"):
        net.register_buffer("e", 3)
    with pytest.raises(AttributeError, match="no attribute `zz`"):
        net.get_buffer("zz")
    del net.shift
    assert [name for name, _ in net.named_buffers()] == ["scratch"]


def test_a_hook_sees_every_buffer():
    handle = register_cell_buffer_registration_hook(lambda cell, name, tensor: tensor * 2)
    try:
        assert Shifted().shift.tolist() == [2.0, 4.0]
    finally:
        handle.remove()
    assert Shifted().shift.tolist() == [1.0, 2.0]


def test_the_state_has_parameters_and_kept_buffers():
    net, other = Shifted(), Shifted()
    net.shift = Tensor([7.0, 8.0])
    state = net.state_dict()
    assert list(state) == ["shift", "inner.weight", "inner.bias"]
    assert list(net.state_dict(prefix="a.")) == ["a.shift", "a.inner.weight", "a.inner.bias"]
    assert other.load_state_dict(state) == ([], [])
    np.testing.assert_array_equal(other.shift.asnumpy(), [7, 8])
    np.testing.assert_array_equal(other(X).asnumpy(), net(X).asnumpy())
    del state["shift"]
    assert other.load_state_dict(state, strict=False).missing_keys == ["shift"]


def test_extra_state():
    one, other = Counting(), Counting()
    one.count = 4
    state = one.state_dict()
    assert state == {"_extra_state": {"count": 4}}
    other.load_state_dict(state)
    assert other.count == 4
    with pytest.raises(RuntimeError):
        nn.ReLU().get_extra_state()
    with pytest.raises(RuntimeError):
        nn.ReLU().set_extra_state(1)


def test_hooks_of_the_state():
    net, calls = Shifted(), []
    net.register_state_dict_pre_hook(lambda cell, prefix, keep: calls.append(("pre", prefix)))
    net.register_state_dict_post_hook(lambda cell, state, prefix, _: state.pop("shift"))
    assert list(net.state_dict()) == ["inner.weight", "inner.bias"]
    assert calls == [("pre", "")]
    other = Shifted()
    renamed = {"bias": "inner.bias"}

    def rename(cell, state, prefix, metadata, strict, missing, unexpected, errors):
        for old, new in renamed.items():
            state[new] = state.pop(old)

    handle = other.register_load_state_dict_pre_hook(rename)
    other.register_load_state_dict_post_hook(lambda cell, keys: calls.append(keys.missing_keys))
    given = dict(other.state_dict())
    given["bias"] = given.pop("inner.bias") + 1
    other.load_state_dict(given)
    np.testing.assert_array_equal(other.inner.bias.asnumpy(), given["bias"].asnumpy())
    assert calls[-1] == []
    handle.remove()
    with pytest.raises(RuntimeError, match="names do not match"):
        other.load_state_dict(given)


def test_another_dtype():
    net = Shifted().to(ms.float16)
    assert (net.inner.weight.dtype, net.shift.dtype) == (ms.float16, ms.float16)
    assert net.to(X) is net
    assert net.inner.weight.dtype is ms.float32
    assert net.to(device="CPU", dtype=ms.float64).shift.dtype is ms.float64
    assert net.to("CPU") is net
    assert net.to_empty() is net
    with pytest.raises(TypeError, match="wrong arguments"):
        net.to(3)
    with pytest.raises(RuntimeError, match="is not available"):
        net.to("Ascend")


def test_compiling_and_running_parts():
    net = Shifted()
    net.compile(X)
    assert net.compile_and_run(X).shape == (1, 2)
    half = net.cast_inputs((X, 3), ms.float16)
    assert half[0].dtype is ms.float16
    assert half[1] == 3
    np.testing.assert_array_equal(net.run_construct((X,), {}).asnumpy(), net(X).asnumpy())


def test_small_facts_of_cells():
    net = nn.SequentialCell(nn.Dense(2, 2), Shifted())
    net.update_cell_prefix()
    assert net[1].inner.param_prefix == "1.inner."
    assert net.param_prefix == ""
    assert net.set_comm_fusion(2) is net
    assert net[0].weight.comm_fusion == 2
    with pytest.raises(ValueError):
        net.set_comm_fusion(-1)
    assert net.set_broadcast_flag().broadcast_flag is True
    net[0].weight.layerwise_parallel = True
    assert net[0].weight.name not in net.parameters_broadcast_dict()
    assert net[0].bias.name in net.parameters_broadcast_dict()
    net.check_names_and_refresh_name()
    assert net.jit_config_dict == {}
    net.set_jit_config(ms.JitConfig(jit_level="O1"))
    assert net.jit_config_dict["jit_level"] == "O1"
    assert net.bprop_debug is False
    net.bprop_debug = True
    assert net.bprop_debug is True
    with pytest.raises(TypeError):
        net.bprop_debug = 1


def test_attributes_of_parameters():
    p = Parameter(Tensor([1.0]), name="p")
    assert (p.requires_grad, p.layerwise_parallel, p.parallel_optimizer) == (True, False, True)
    assert (p.comm_fusion, p.key, p.sliced, p.cache_enable) == (1, -1, False, False)
    assert (p.cache_shape, p.inited_param, p.parallel_optimizer_comm_recompute) == ([], None, False)
    p.requires_grad = False
    assert p.requires_grad is False
    assert p.clone().requires_grad is False
    p.comm_fusion, p.key = 3, 4
    assert (p.comm_fusion, p.key) == (3, 4)
    with pytest.raises(TypeError, match="requires_grad"):
        p.requires_grad = 1
    with pytest.raises(TypeError, match="layerwise_parallel"):
        p.layerwise_parallel = 1
    with pytest.raises(TypeError):
        p.key = "a"
    with pytest.raises(ValueError):
        p.comm_fusion = -1


def test_methods_of_operators():
    op = ops.Add()
    op.add_attr("x", 1)
    assert op.get_attr_dict() == {"x": 1}
    op.del_attr("x")
    assert op.get_attr_dict() == {}
    op.set_user_data("k", [3])
    assert op.get_user_data("k") == [3]
    assert op.get_user_data("other") is None
    assert op == ops.Add()
    assert op.check_elim(X, X) == (False, None)
    assert op.update_parameter is False
    assert ops.Assign().update_parameter is True
    op.init_prim_io_names(["a", "b"], ["c"])
    assert op.get_attr_dict() == {"input_names": ["a", "b"], "output_names": ["c"]}
    op.place("MS_WORKER", 0)
    assert op.get_attr_dict()["rank_id"] == 0
    op.set_instance_name("sum")
    assert op.get_attr_dict()["instance_name"] == "sum"
    with pytest.raises(ValueError, match="role"):
        op.place("foo", 0)
    np.testing.assert_array_equal(op(X, X).asnumpy(), 2 * X.asnumpy())
