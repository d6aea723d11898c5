"""Effects inside compiled code: in order, once a run, inside branches and loops."""

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.core.events import subscribe


def recorded(run):
    """The events published while `run` runs: (kind, name, numbers)."""
    found = []
    kinds = ("scalar", "tensor", "histogram", "image")
    handles = [
        subscribe(
            kind, lambda kind=kind, **e: found.append((kind, e["name"], np.asarray(e["value"])))
        )
        for kind in kinds
    ]
    try:
        run()
    finally:
        for handle in handles:
            handle()
    return found


class Summing(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scalar, self.histogram = ops.ScalarSummary(), ops.HistogramSummary()

    def construct(self, x):
        self.histogram("input", x)
        n = Tensor(0)
        while n < x.sum():
            self.scalar("n", n)
            n = n + 2
        if x.sum() > 3:
            self.scalar("large", x.sum())
        return n


def test_summaries_are_published_when_the_program_runs():
    net = Summing()
    for values in ([1.0, 2.0], [2.0, 3.0]):
        x = Tensor(values)
        eager = recorded(lambda x=x: net(x))
        compiled = ms.jit(net)
        compiled(x)
        graph = recorded(lambda x=x, compiled=compiled: compiled(x))
        assert [e[:2] for e in graph] == [e[:2] for e in eager]
        for one, other in zip(graph, eager, strict=True):
            np.testing.assert_array_equal(one[2], other[2])


def test_the_print_operator_prints_at_each_run(capfd):
    show = ops.Print()

    def f(x):
        show("x is", x)
        return x * 2

    compiled = ms.jit(f)
    for value in (1.0, 2.0):
        f(Tensor(value))
        eager = capfd.readouterr().out
        compiled(Tensor(value))
        assert capfd.readouterr().out == eager


def test_a_gradient_prints_once(capfd):
    def f(x):
        print("at", x)
        return x * x

    ms.jit(lambda x: ms.grad(f)(x))(Tensor(3.0))
    assert capfd.readouterr().out == "at 3.0\n"
