"""Cells: parameters and their names, modes, hooks, own gradients, printing."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, ParameterTuple, Tensor, nn


class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0]))
        self.v = Parameter(Tensor([1.0]), name="vv")
        self.fc = nn.Dense(2, 3)
        self.seq = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU(), nn.BatchNorm1d(2))
        self.pt = ParameterTuple(
            [Parameter(Tensor([1.0]), name="p0"), Parameter(Tensor([1.0]), name="p1")]
        )
        self.ignored = [Parameter(Tensor([1.0]), name="q0")]

    def construct(self, x):
        return self.fc(x) * self.w


class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = Inner()
        self.bb = nn.CellList([nn.Dense(1, 1)])

    def construct(self, x):
        return self.n(x)


BATCH_NORM = ["seq.2.moving_mean", "seq.2.moving_variance", "seq.2.gamma", "seq.2.beta"]


def test_names_in_a_root_cell():
    cell = Inner()
    own = ["fc.weight", "fc.bias", "seq.0.weight", "seq.0.bias", *BATCH_NORM]
    assert [p.name for p in cell.get_parameters()] == ["w", "vv", "p0", "p1", *own]
    assert [n for n, _ in cell.parameters_and_names()] == ["w", "v", "p0", "p1", *own]
    assert [n for n, _ in cell.cells_and_names()] == ["", "fc", "seq", "seq.0", "seq.1", "seq.2"]


def test_names_below_another_cell_follow_the_attributes():
    cell = Outer()
    names = [p.name for p in cell.get_parameters()]
    assert names[:4] == ["n.w", "n.v", "n.p0", "n.p1"] and names[-2:] == [
        "bb.0.weight",
        "bb.0.bias",
    ]
    assert "n.seq.2.moving_mean" not in [p.name for p in cell.trainable_params()]


def test_unnamed_parameters_are_numbered():
    first, second = Parameter(Tensor(1.0)), Parameter(Tensor(1.0))
    assert first.name.startswith("Parameter") and first.name != second.name


def test_parameter_dtypes():
    assert Parameter(3).dtype is ms.int32 and Parameter(1.5).dtype is ms.float32
    assert Parameter(Tensor(3)).dtype is ms.int64 and Parameter(np.float64([1])).dtype is ms.float64


def test_parameter_arguments_are_checked():
    with pytest.raises(ValueError, match="should be 'string' or 'None'"):
        Parameter(Tensor(1.0), name=3)
    with pytest.raises(TypeError, match="`requires_grad` must be bool type"):
        Parameter(Tensor(1.0), requires_grad=1)
    assert repr(Parameter(Tensor([1.0, 2.0]), name="w")) == (
        "Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)"
    )


def test_insert_child_keeps_names_and_insert_param_gives_one():
    cell = nn.Cell()
    cell.insert_child_to_cell("layer", nn.Dense(1, 1))
    cell.insert_param_to_cell("weight", Parameter(Tensor(1.0)))
    assert [p.name for p in cell.get_parameters()] == ["weight", "weight", "bias"]
    with pytest.raises(ValueError, match="two parameters have the name"):
        cell.check_names()
    cell.update_parameters_name("zz.")
    assert [p.name for p in cell.get_parameters()] == [
        "zz.weight",
        "zz.layer.weight",
        "zz.layer.bias",
    ]


def test_mistakes_of_subclasses():
    class NoInit(nn.Cell):
        def __init__(self, part):
            self.part = part

    with pytest.raises(AttributeError, match=r"please call Cell.__init__\(\) firstly"):
        NoInit(Parameter(Tensor(1.0)))
    with pytest.raises(AttributeError, match="has no attribute '_auto_prefix'"):
        NoInit(nn.ReLU())
    with pytest.raises(AttributeError, match="'construct' is not defined"):
        nn.Cell()(1)
    cell = Inner()
    with pytest.raises(TypeError, match="Sub cell 'fc' already exists"):
        cell.fc = 3
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        cell.nothing


def test_assigning_a_tensor_to_a_parameter_changes_it_in_place():
    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(Tensor(0.0), name="count")

        def construct(self, x):
            self.count = self.count + 1
            return x * self.count

    cell = Counter()
    parameter = cell.count
    assert float(cell(Tensor(2.0))) == 2 and float(cell(Tensor(2.0))) == 4
    assert cell.count is parameter and isinstance(parameter, Parameter)


def test_modes_and_flags():
    cell = Outer()
    assert cell.set_train() is cell and cell.n.seq[1].training
    cell.set_train(False)
    assert not cell.n.seq[1].training
    cell.add_flags_recursive(marked=True)
    assert cell.n.fc.marked and cell.n.fc.get_flags()["marked"]
    seen = []
    cell.apply(lambda c: seen.append(type(c).__name__))
    assert seen[-1] == "Outer" and "Dense" in seen


def test_to_float_computes_in_another_dtype():
    cell = nn.Dense(3, 2).to_float(ms.float16)
    out = cell(Tensor(np.ones((1, 3), np.float32)))
    assert out.dtype is ms.float16 and cell.parameters_dict()["weight"].dtype is ms.float32
    grads = ms.grad(lambda x: cell(x).sum(), None, cell.trainable_params())(
        Tensor(np.ones((1, 3), "f"))
    )
    assert [g.dtype for g in grads] == [ms.float32, ms.float32]


def test_a_cell_with_its_own_gradient():
    class Clipped(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return dout * 100, dout * out

    x, y = Tensor(2.0), Tensor(3.0)
    assert [float(g) for g in ms.grad(Clipped(), (0, 1))(x, y)] == [100, 6]
    assert float(ms.grad(lambda x: Clipped()(x * 2, y) * 5)(x)) == 1000


def test_too_few_gradients_are_refused():
    class Wrong(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return (dout,)

    with pytest.raises(RuntimeError, match="1 gradients for 2 inputs"):
        ms.grad(Wrong(), (0, 1))(Tensor(1.0), Tensor(1.0))


def test_forward_hooks():
    cell = nn.ReLU()
    pre = cell.register_forward_pre_hook(lambda c, inputs: (inputs[0] * 2,))
    post = cell.register_forward_hook(lambda c, inputs, output: output + 1)
    assert float(cell(Tensor(3.0))) == 7
    pre.remove()
    post.remove()
    assert float(cell(Tensor(3.0))) == 3


def test_backward_hooks():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2

    seen = []
    cell = Double()

    def hook(c, grad_input, grad_output):
        seen.append((float(grad_input[0]), float(grad_output[0])))
        return (grad_input[0] * 10,)

    cell.register_backward_hook(hook)
    assert float(ms.grad(lambda x: cell(x) * 3)(Tensor(1.0))) == 60
    assert seen == [(6.0, 3.0)]


def test_printing():
    assert repr(nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())) == (
        "SequentialCell(\n"
        "  (0): Dense(input_channels=2, output_channels=3, has_bias=True)\n"
        "  (1): ReLU()\n)"
    )


def test_containers():
    cells = nn.CellList([nn.Dense(1, 1), nn.Dense(2, 2)])
    cells.append(nn.ReLU())
    cells.insert(0, nn.Tanh())
    assert [type(c).__name__ for c in cells] == ["Tanh", "Dense", "Dense", "ReLU"]
    assert cells[1].weight.name == "1.weight" and len(cells[1:3]) == 2
    del cells[0]
    assert len(cells) == 3 and cells[0].weight.name == "0.weight"
    with pytest.raises(IndexError):
        cells[7]
    with pytest.raises(TypeError):
        nn.CellList([3])
    table = nn.CellDict({"a": nn.Dense(1, 1), "b": nn.ReLU()})
    assert list(table) == ["a", "b"] and table["a"].weight.name == "a.weight"
    assert float(nn.SequentialCell([nn.ReLU(), nn.ReLU()])(Tensor(-1.0))) == 0


def test_clones_and_tuples_of_parameters():
    parameters = ParameterTuple([Parameter(Tensor([1.0, 2.0]), name="w")])
    (clone,) = parameters.clone("moments", init="zeros")
    assert clone.name == "moments.w" and clone.asnumpy().tolist() == [0, 0]
    assert len(ParameterTuple([clone, clone])) == 2
    assert clone.set_data(Tensor([1.0, 2.0, 3.0])).shape == (3,)
    whole = Parameter(Tensor([1, 2], ms.int32)).set_data(Tensor([1.5, 2.5]))
    assert whole.dtype is ms.int32 and whole.asnumpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match="the data cannot be set"):
        whole.set_data([1, 2])
    with pytest.raises(ValueError, match="two parameters have the name 'w'"):
        ParameterTuple([clone, Parameter(Tensor(1.0), name="w"), Parameter(Tensor(1.0), name="w")])


def test_parameters_of_a_tuple_get_numbered_names():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.pair = ParameterTuple((Parameter(Tensor([1.0])), Parameter(Tensor([2.0]))))
            self.inner = nn.Dense(1, 1)

    outer = nn.SequentialCell([Net()])
    names = [parameter.name for parameter in outer.get_parameters()]
    assert names == ["0.Parameter$1", "0.Parameter$2", "0.inner.weight", "0.inner.bias"]


def test_adding_a_list_to_a_cell_list_extends_it():
    cells = nn.CellList([nn.ReLU()])
    cells += [nn.ReLU(), nn.Tanh()]
    assert len(cells) == 3
    with pytest.raises(TypeError, match="a list or a CellList"):
        cells += 3


def test_the_fp16_flag_lowers_a_cell():
    layer = nn.Dense(2, 2).add_flags_recursive(fp16=True)
    assert layer(Tensor([[1.0, 2.0]])).dtype is ms.float16


def test_an_empty_name_of_a_parameter_is_refused():
    with pytest.raises(KeyError, match="empty"):
        nn.Cell().insert_param_to_cell("", Parameter(Tensor([1.0])))


def test_state_dicts_and_paths():
    first, second = Outer(), Outer()
    assert first.get_sub_cell("n.seq.0") is first.n.seq[0]
    with pytest.raises(AttributeError, match="there is no cell"):
        first.get_sub_cell("n.nothing")
    assert second.load_state_dict(first.state_dict()) == ([], [])
    np.testing.assert_array_equal(second.n.fc.weight.asnumpy(), first.n.fc.weight.asnumpy())
    partial = {"n.w": Tensor([5.0]), "other": Tensor([1.0])}
    with pytest.raises(RuntimeError, match="the names do not match"):
        second.load_state_dict(partial)
    missing, unknown = second.load_state_dict(partial, strict=False)
    assert unknown == ["other"] and "n.v" in missing and float(second.n.w) == 5
    assert [p.name for p in first.untrainable_params()] == [
        "n.seq.2.moving_mean",
        "n.seq.2.moving_variance",
    ]
    assert len(first.init_parameters_data()) == len(list(first.get_parameters()))
    assert first.cls_name == "Outer"
    first.recompute()
    assert first.n.fc.get_flags()["recompute"]


def test_backward_pre_hooks_change_the_gradient_of_the_output():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2

    cell = Double()
    handle = cell.register_backward_pre_hook(lambda c, grad_output: (grad_output[0] * 10,))
    assert float(ms.grad(lambda x: cell(x) * 3)(Tensor(1.0))) == 60
    handle.remove()
    assert float(ms.grad(lambda x: cell(x) * 3)(Tensor(1.0))) == 6
