"""Cells, parameters and random numbers: a compiled cell changes what the plain one changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

from .compare import compilations, equal

X = Tensor([1.0, 2.0, 3.0])
ONE, TWO = Tensor(1.0), Tensor(2.0)


def both(make: Callable[[], nn.Cell], *calls: tuple[Any, ...], train: bool = False) -> nn.Cell:
    """Run the same calls on two equal cells, plainly and in graph mode; all must agree."""
    ms.set_seed(3)
    plain, compiled = make().set_train(train), make().set_train(train)
    for mine, theirs in zip(compiled.get_parameters(), plain.get_parameters(), strict=True):
        mine.set_data(Tensor(theirs.asnumpy()))
    ms.set_seed(5)
    wanted = [plain(*args) for args in calls]
    ms.set_seed(5)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found = [compiled(*args) for args in calls]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    equal(found, wanted)
    for mine, theirs in zip(compiled.get_parameters(), plain.get_parameters(), strict=True):
        equal(Tensor(mine), Tensor(theirs))
    labels = ms.jit.explain(compiled).labels
    assert set(labels) == {"xla"}, labels
    return compiled


# ---- cells --------------------------------------------------------------------------------------


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Dense(3, 3), nn.Dense(3, 3)])
        self.head = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())
        self.scale = 2.0
        self.sizes = (3, 3)

    def construct(self, x, repeat=1):
        for _ in range(repeat):
            for i, layer in enumerate(self.layers):
                x = ops.tanh(layer(x)) * self.scale + i
        return self.head(x), len(self.layers), self.sizes[0]


def test_cells_with_parts():
    x = Tensor(np.ones((2, 3), np.float32))
    compiled = both(Network, (x,), (x * 2,))
    assert compilations(compiled) == 1


def test_a_cell_list_indexed_and_sliced():
    class Picked(Network):
        def construct(this, x):
            for layer in this.layers[::-1]:
                x = layer(x)
            return this.layers[-1](x)

    both(Picked, (Tensor(np.ones((2, 3), np.float32)),))


def test_layers_chosen_at_run_time():
    class Chosen(Network):
        def construct(self, x, i):
            first, second = self.layers
            return (first, second)[i](x) if x.sum() > 0 else first(x)

    x = Tensor(np.ones((2, 3), np.float32))
    both(Chosen, (x, Tensor(1, ms.int32)), (x, Tensor(0, ms.int32)), (-x, Tensor(1, ms.int32)))


def test_a_changed_attribute_of_a_cell_is_noticed(graph_mode):
    net = Network()
    x = Tensor(np.ones((1, 3), np.float32))
    before = net(x)[0]
    net.scale = 5.0
    after = net(x)[0]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    equal(after, net(x)[0])
    assert not np.allclose(before.asnumpy(), after.asnumpy())


def test_training_mode_is_noticed(graph_mode):
    net = nn.Dropout(p=0.5)
    x = ops.ones(200)
    equal(net.set_train(False)(x), x)
    assert not np.array_equal(net.set_train(True)(x).asnumpy(), x.asnumpy())


def test_parameters_changed_from_outside_are_seen(graph_mode):
    net = nn.Dense(3, 2, weight_init="zeros", bias_init="zeros")
    x = Tensor(np.ones((1, 3), np.float32))
    equal(net(x), Tensor(np.zeros((1, 2), np.float32)))
    net.weight.set_data(ops.ones((2, 3)))
    equal(net(x), Tensor(np.full((1, 2), 3.0, np.float32)))


def test_gradients_of_weights_in_graph_mode():
    x = Tensor(np.ones((2, 3), np.float32))
    net = Network()
    weights = net.trainable_params()

    def loss(x):
        return net(x)[0].sum()

    step = ms.value_and_grad(loss, None, weights)
    wanted = step(x)
    equal(ms.jit(step)(x), wanted)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        equal(step(x), wanted)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


# ---- parameters ---------------------------------------------------------------------------------


class Stateful(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(Tensor(1.0), name="total")
        self.count = Parameter(Tensor(0, ms.int32), name="count", requires_grad=False)


def test_parameters_assigned():
    class Net(Stateful):
        def construct(self, x):
            before = self.total * 1
            self.total = self.total + x.sum()
            self.count += 1
            return before, self.total * 2, self.count + 0

    both(Net, (X,), (X,), (X * 2,))


def test_parameters_assigned_by_operators():
    class Net(Stateful):
        def construct(self, x):
            ops.assign(self.total, x.sum())
            ops.assign_add(self.count, Tensor(2, ms.int32))
            ops.assign_sub(self.total, ONE)
            return self.total * 1

    both(Net, (X,), (X * 2,))


def test_parameters_assigned_in_branches():
    class Net(Stateful):
        def construct(self, x):
            if x > 1:
                self.total = self.total * x
                ops.assign_add(self.count, Tensor(1, ms.int32))
            elif x < 0:
                ops.assign(self.total, x)
            return self.total + 1

    both(Net, (TWO,), (ONE,), (-ONE,), (TWO,))


def test_parameters_assigned_in_loops():
    class Net(Stateful):
        def construct(self, x):
            while self.total < 50:
                self.total = self.total * 2 + x
                for _ in range(2):
                    ops.assign_add(self.count, Tensor(1, ms.int32))
            return x * self.total

    both(Net, (ONE,), (TWO,))


def test_parameters_assigned_in_functions_and_before_a_return():
    class Net(Stateful):
        def bump(self, by):
            self.total = self.total + by
            return self.total

        def construct(self, x):
            if self.bump(x) > 3:
                return self.bump(1.0) * 1
            return self.bump(10.0) * 1

    both(Net, (ONE,), (TWO,), (ONE,))


def test_a_parameter_read_before_it_is_changed_keeps_its_old_value():
    class Net(Stateful):
        def construct(self, x):
            old = self.total + 0
            self.total = x
            return old, self.total + 0

    both(Net, (ONE,), (TWO,))


def test_parameters_of_functions():
    weight = Parameter(Tensor(2.0), name="weight")

    def f(x):
        ops.assign_add(weight, x)
        return weight * x

    compiled = ms.jit(f)
    equal([compiled(ONE), compiled(TWO)], [Tensor(3.0), Tensor(10.0)])
    equal(Tensor(weight), Tensor(5.0))
    assert compilations(compiled) == 1


def test_parameters_changed_under_a_gradient():
    class Net(Stateful):
        def construct(self, x):
            self.count += 1
            return self.total * x * x

    net = Net()
    step = ms.jit(ms.value_and_grad(lambda x: net(x), 0, net.trainable_params()))
    value, (by_input, by_weight) = step(Tensor(3.0))
    equal((value, by_input), (Tensor(9.0), Tensor(6.0)))
    equal(by_weight[0] if isinstance(by_weight, tuple) else by_weight, Tensor(9.0))
    assert int(net.count) == 1


def test_a_training_step():
    def trained(compile_it: bool) -> list[Any]:
        ms.set_seed(1)
        net = nn.Dense(3, 1)
        optimizer = nn.Adam(net.trainable_params(), learning_rate=0.1)
        x, y = Tensor(np.eye(3, dtype=np.float32)), Tensor([[1.0], [2.0], [3.0]])
        backward = ms.value_and_grad(
            lambda x, y: ((net(x) - y) ** 2).mean(), None, net.trainable_params()
        )

        def step(x, y):
            loss, gradients = backward(x, y)
            optimizer(gradients)
            return loss

        run = ms.jit(step) if compile_it else step
        return [run(x, y) for _ in range(4)] + [Tensor(p) for p in net.get_parameters()]

    equal(trained(True), trained(False))


# ---- random numbers -----------------------------------------------------------------------------


class Dropping(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(p=0.5)


def test_dropout_draws_the_same():
    class Net(Dropping):
        def construct(self, x):
            return self.dropout(x) + self.dropout(x * 2)

    x = ops.ones(100)
    both(Net, (x,), (x,), train=True)


def test_dropout_in_branches_draws_the_same():
    class Net(Dropping):
        def construct(self, x, flag):
            if flag > 0:
                x = self.dropout(x)
                x = self.dropout(x)
            elif flag < 0:
                x = self.dropout(x)
            return self.dropout(x)

    x = ops.ones(100)
    both(Net, (x, ONE), (x, -ONE), (x, ONE * 0), (x, ONE), train=True)


def test_dropout_in_loops_draws_the_same():
    class Net(Dropping):
        def construct(self, x):
            n = 0
            while x.sum() > 1:
                x = self.dropout(x) * 0.5
                n += 1
            return self.dropout(x + 1), n

    x = ops.ones(100)
    both(Net, (x,), (x,), train=True)


def test_random_operators_draw_the_same():
    def f(x):
        a = ops.standard_normal((3,)) * x
        b = ops.uniform((3,), Tensor(0.0), Tensor(1.0))
        c = ops.rand(2) + ops.randn(2)
        if x.sum() > 0:
            c = c + ops.rand(2)
        return a, b, c

    ms.set_seed(11)
    wanted = [f(X), f(-X), f(X)]
    compiled = ms.jit(f)
    ms.set_seed(11)
    equal([compiled(X), compiled(-X), compiled(X)], wanted)


def test_random_numbers_under_a_gradient_draw_the_same():
    def f(x):
        return (x * ops.rand(3)).sum()

    ms.set_seed(11)
    wanted = ms.value_and_grad(f)(X)
    ms.set_seed(11)
    equal(ms.jit(ms.value_and_grad(f))(X), wanted)


# ---- running statistics -------------------------------------------------------------------------


def test_running_statistics_of_batch_norm():
    def make() -> nn.Cell:
        return nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4))

    batches = [
        (Tensor(np.random.default_rng(i).normal(size=(8, 3)).astype(np.float32)),) for i in range(3)
    ]
    both(make, *batches, train=True)
    both(make, *batches, train=False)


def test_running_statistics_under_a_gradient():
    x = Tensor(np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32))
    nets = [nn.BatchNorm1d(4).set_train() for _ in range(2)]
    steps = [ms.value_and_grad(lambda x, net=net: (net(x) ** 3).sum()) for net in nets]
    equal(ms.jit(steps[1])(x), steps[0](x))
    for one, other in zip(*(net.get_parameters() for net in nets), strict=True):
        equal(Tensor(one), Tensor(other))


def test_getattr_follows_an_object_that_changes():
    class Settings:
        factor = 2.0

    settings = Settings()
    settings.factor = 2.0

    @ms.jit
    def scaled(x):
        return x * getattr(settings, "factor") + getattr(settings, "shift", 1.0)  # noqa: B009

    x = Tensor(np.ones(2, np.float32))
    assert scaled(x).asnumpy().tolist() == [3.0, 3.0]
    settings.factor = 5.0
    assert scaled(x).asnumpy().tolist() == [6.0, 6.0]


class DropsTwice(nn.Cell):
    """Python looks at a number between two random operators, so it runs in the vm."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(p=0.5)

    def construct(self, x):
        once = self.drop(x)
        return self.drop(once) * int(once.sum().asnumpy())


def test_the_vm_draws_the_random_numbers_of_eager_mode():
    cell = DropsTwice().set_train()
    x = Tensor(np.ones((4, 4), np.float32))
    ms.set_seed(3)
    plain = [cell(x).asnumpy() for _ in range(2)]
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        ms.set_seed(3)
        for expected in plain:
            np.testing.assert_array_equal(cell(x).asnumpy(), expected)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert not np.array_equal(*plain)
