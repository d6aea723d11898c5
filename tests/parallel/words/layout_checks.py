"""Checks of layouts, `reshard` and `shard` on eight virtual devices, each a function of this file.

Run in a process of its own, it checks those whose names begin as its arguments say: the number of
devices is set when jax starts. Each prints one line; the tests read them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import jax
import numpy as np

import mycelia as ms
from mycelia import Layout, nn, ops
from mycelia.parallel import plans_of
from tests.parallel.words.dense import (
    SIZE,
    Dense,
    close,
    expected,
    fails,
    numbers,
    placed,
    row,
    run,
    spread,
    the_plan,
)

# ---- layouts of operators ------------------------------------------------------------------------


def _layouts(devices: int, matrix: tuple[int, int], x_lies: str, weight_lies: str) -> None:
    spread(devices)
    layout = Layout(matrix, ("dp", "mp"))
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard((layout("dp", "None"), layout("None", "mp")))
    close(net(x), wanted)
    assert placed(the_plan(net), "MatMul") == [x_lies, weight_lies], the_plan(net).rows
    assert row(the_plan(net), "MatMul").pinned


def layout_2_by_4():
    _layouts(8, (2, 4), "(a, -)", "(-, bc)")


def layout_4_by_2():
    _layouts(8, (4, 2), "(ab, -)", "(-, c)")


def layout_2_by_3():
    _layouts(6, (2, 3), "(a, -)", "(-, b)")


def layout_3_by_2():
    _layouts(6, (3, 2), "(a, -)", "(-, b)")


def layout_7():
    _layouts(7, (7, 1), "(a, -)", "(-, -)")


def layout_of_two_devices():
    _layouts(2, (1, 2), "(-, -)", "(-, a)")


def layout_axes_together_in_the_order_given():
    spread(8)
    layout = Layout((2, 4), ("dp", "mp"))
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard((layout(("mp", "dp"), "None"), layout("None", "None")))
    close(net(x), wanted)
    assert placed(the_plan(net), "MatMul")[0] == "(bca, -)"


def layout_of_a_sum_of_parts():
    spread(8)
    layout = Layout((2, 4), ("dp", "mp"))
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard((layout("dp", "mp"), layout("mp", "None")))
    close(net(x), wanted)
    assert placed(the_plan(net), "MatMul") == ["(a, bc)", "(bc, -)"]


def layout_and_numbers_in_one_program():
    spread(6)
    layout = Layout((2, 3), ("dp", "mp"))
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard((layout("dp", "None"), layout("None", "mp")))
    net.tanh.shard(((3, 2),))
    close(net(x), wanted)
    assert placed(the_plan(net), "Tanh") == ["(b, a)"]


def layout_grids_that_divide_each_other():
    spread(8)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard(
        (Layout((2, 4), ("a", "b"))("a", "None"), Layout((8,), ("a",))("None", "None"))
    )
    net.tanh.shard((Layout((4, 2), ("a", "b"))("a", "b"),))
    close(net(x), wanted)
    assert placed(the_plan(net), "Tanh") == ["(ab, c)"]


def layout_grids_that_cannot_meet():
    spread(6)
    net = Dense()
    net.matmul.shard(
        (Layout((2, 3), ("a", "b"))("a", "None"), Layout((3, 2), ("a", "b"))("None", "b"))
    )
    words = "incompatible device grids", "(2, 3), (3, 2)"
    fails(ValueError, *words, at=lambda: net(numbers(SIZE, SIZE)))


def layout_for_other_devices():
    spread(6)
    net = Dense()
    layout = Layout((2, 4), ("dp", "mp"))
    net.matmul.shard((layout("dp", "None"), layout("None", "mp")))
    words = "wrong number of devices", "dp=2, mp=4", "runs on 6"
    fails(ValueError, *words, at=lambda: net(numbers(SIZE, SIZE)))


def layout_with_an_order_of_its_own():
    spread(2)
    net = Dense()
    layout = Layout((2,), ("dp",), rank_list=[1, 0])
    net.tanh.shard((layout("dp", "None"),))
    fails(ValueError, "a custom device order", at=lambda: net(numbers(SIZE, SIZE)))


def layout_that_uses_an_axis_twice():
    spread(8)
    net = Dense()
    layout = Layout((2, 4), ("dp", "mp"))
    net.matmul.shard((layout("dp", "None"), layout("None", "dp")))
    words = "MatMul.shard: a device axis splits two", "self.matmul(x, self.weight)"
    fails(ValueError, *words, at=lambda: net(numbers(SIZE, SIZE)))


def layout_of_meeting_dimensions_that_differs():
    spread(8)
    net = Dense()
    layout = Layout((2, 4), ("dp", "mp"))
    net.matmul.shard((layout("dp", "mp"), layout("dp", "None")))
    words = (
        "MatMul.shard: corresponding dimensions are split differently",
        "self.matmul(x, self.weight)",
    )
    fails(ValueError, *words, at=lambda: net(numbers(SIZE, SIZE)))


def layout_with_too_many_dimensions():
    spread(8)
    net = Dense()
    layout = Layout((2, 4), ("dp", "mp"))
    net.tanh.shard((layout("dp", "mp", "None"),))
    words = "Tanh.shard: the strategy of input 0 does not match", "self.tanh("
    fails(ValueError, *words, at=lambda: net(numbers(SIZE, SIZE)))


def layout_of_fewer_rows_than_devices():
    spread(8)
    net, x = Dense(), numbers(4, SIZE)
    net.tanh.shard(((8, 1),))
    close(net(x), expected(x))
    assert placed(the_plan(net), "Tanh") == ["(abc, -)"]


# ---- results -------------------------------------------------------------------------------------


def result_as_it_comes_needs_nothing():
    spread(8)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard(((2, 1), (1, 4)), ((2, 4),))
    close(net(x), wanted)
    plan = the_plan(net)
    assert placed(plan, "LayOut") == placed(plan, "MatMul", inputs=False)
    assert row(plan, "LayOut").moved == 0


def result_of_a_sum_is_cut():
    """The parts of a sum that are kept apart: MatMul with a cut inner size, rows of the result."""
    spread(6)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    net.matmul.shard(((1, 6), (6, 1)), ((6, 1),))
    close(net(x), wanted)
    plan = the_plan(net)
    assert placed(plan, "MatMul", inputs=False) == ["(-, -)"]
    assert placed(plan, "LayOut", inputs=False) == ["(ab, -)"]


def result_of_two_outputs():
    spread(2)
    split = ops.Split(1, 2).shard(((1, 1),), ((2, 1), (1, 2)))
    net = ms.jit(lambda x: split(x))
    x = numbers(8, 8)
    one, other = net(x)
    close(one, x.asnumpy()[:, :4])
    close(other, x.asnumpy()[:, 4:])
    rows = [r.outputs for r in the_plan(net).rows if r.name == "LayOut"]
    assert sorted(text.split(" ", 1)[1] for (text,) in rows) == ["(-, a)", "(a, -)"]


def result_that_cannot_be():
    spread(8)
    net = Dense()
    net.matmul.shard(((2, 1), (1, 4)), ((3, 1),))
    words = (
        "MatMul.shard, out_strategy: the devices cannot be split this way",
        "self.matmul(x, self.weight)",
    )
    fails(ValueError, *words, at=lambda: net(numbers(SIZE, SIZE)))


def result_with_too_few_strategies():
    spread(2)
    split = ops.Split(1, 2).shard(((1, 1),), ((2, 1),))
    net = ms.jit(lambda x: split(x))
    words = "one strategy per result", "1 strategies, 2 results"
    fails(ValueError, *words, at=lambda: net(numbers(8, 8)))


# ---- reshard and shard ---------------------------------------------------------------------------


def reshard_in_the_middle():
    spread(8)
    layout = Layout((2, 4), ("dp", "mp"))

    class Net(Dense):
        def construct(self, x):
            return self.tanh(ops.reshard(self.matmul(x, self.weight), layout("mp", "dp")))

    net, x = Net(), numbers(SIZE, SIZE)
    wanted = expected(x)
    close(net(x), wanted)
    assert placed(the_plan(net), "LayOut") == ["(bc, a)"]


def reshard_has_a_gradient():
    spread(6)

    def loss(x):
        return ops.sum(ops.square(ms.parallel.function.reshard(x, (2, 3))))

    step = ms.jit(ms.grad(loss))
    x = numbers(SIZE, SIZE)
    close(step(x), 2 * x.asnumpy())
    rows = [r for r in the_plan(step).rows if r.name == "LayOut"]
    assert len(rows) == 2 and all(r.pinned for r in rows)


def reshard_on_one_device_changes_nothing():
    ms.set_context(mode=ms.GRAPH_MODE)
    net = ms.jit(lambda x: ops.reshard(x, (2, 1)) + 1)
    x = numbers(8, 8)
    close(net(x), x.asnumpy() + 1)
    assert plans_of(net) == []
    close(ops.reshard(x, (3, 1)), x.asnumpy())


def _sharded_cell(devices: int, parts: tuple[int, int], lies: str, weight_lies: str) -> None:
    spread(devices)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    sharded = net.shard(((parts[0], 1),), (parts,), {"weight": (1, parts[1])})
    close(sharded(x), wanted)
    plan = the_plan(sharded)
    rows = [r.outputs[0].split(" ", 1)[1] for r in plan.rows if r.name == "LayOut"]
    assert rows[-1] == lies, rows
    assert placed(plan, "weight", inputs=False) == [weight_lies]
    assert str(net.weight._data.sharding.spec) == str(_spec(weight_lies))


def _spec(lies: str) -> Any:
    dims = lies.strip("()").split(", ")
    names = [None if d == "-" else d if len(d) == 1 else tuple(d) for d in dims]
    return jax.sharding.PartitionSpec(*[(n,) if isinstance(n, str) else n for n in names])


def shard_of_a_cell_on_2():
    _sharded_cell(2, (1, 2), "(-, a)", "(-, a)")


def shard_of_a_cell_on_6():
    _sharded_cell(6, (2, 3), "(b, a)", "(-, a)")


def shard_of_a_cell_on_7():
    _sharded_cell(7, (1, 7), "(-, a)", "(-, a)")


def shard_of_a_cell_on_8():
    _sharded_cell(8, (2, 4), "(a, bc)", "(-, bc)")


def shard_inside_a_network():
    spread(8)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = Dense()
            self.sharded = ms.shard(
                self.dense, ((8, 1),), parameter_plan={"self.dense.weight": (1, 8)}
            )

        def construct(self, x):
            return self.sharded(x) * 2

    net, x = Net(), numbers(SIZE, SIZE)
    assert [p.name for p in net.get_parameters()] == ["dense.weight"]
    wanted = 2 * expected(x)
    close(net(x), wanted)
    assert placed(the_plan(net), "LayOut") == ["(abc, -)"]
    assert placed(the_plan(net), "dense.weight", inputs=False) == ["(-, abc)"]


def shard_of_a_function_in_pynative_mode():
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, full_batch=True)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    sharded = ms.shard(lambda x, y: ops.abs(x) + y, ((2, 2), (1, 4)), ((4, 1),))
    x, y = numbers(SIZE, SIZE), numbers(SIZE, SIZE, seed=2)
    close(sharded(x, y), np.abs(x.asnumpy()) + y.asnumpy())
    rows = [r.outputs[0].split(" ", 1)[1] for r in the_plan(sharded).rows if r.name == "LayOut"]
    assert sorted(rows) == ["(-, bc)", "(b, c)", "(bc, -)"], rows


def shard_leaves_what_has_no_strategy():
    spread(8)
    sharded = ms.shard(lambda pair, y: pair[0] + pair[1] * y, (((8, 1), None), None))
    x, y = numbers(SIZE, 3), numbers(SIZE, 3, seed=2)
    close(sharded((x, y), y), x.asnumpy() + y.asnumpy() ** 2)
    assert [r.name for r in the_plan(sharded).rows].count("LayOut") == 1


def shard_without_a_mode_is_the_function():
    ms.set_context(mode=ms.GRAPH_MODE)
    net, x = Dense(), numbers(SIZE, SIZE)
    sharded = net.shard(((8, 1),), parameter_plan={"weight": (1, 8)})
    close(sharded(x), expected(x))
    assert plans_of(sharded) == []


def shard_with_a_wrong_number_of_strategies():
    spread(8)
    sharded = ms.shard(lambda x, y: x + y, ((8, 1),))
    words = "strategies does not match the arguments", "1 strategies in in_strategy, 2 arguments"
    fails(ValueError, *words, at=lambda: sharded(numbers(8, 8), numbers(8, 8)))


def parameter_that_cannot_be_cut_so():
    spread(8)
    net = Dense(width=12)
    net.weight.layout = (8, 1)
    words = "the layout of parameter weight", "size 12 cannot be split into 8 shards"
    fails(ValueError, *words, at=lambda: net(numbers(8, 12)))


def parameter_told_otherwise_is_laid_out_anew():
    spread(8)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    for strategy, lies in (((8, 1), "(abc, -)"), ((1, 8), "(-, abc)")):
        net.weight.layout = strategy
        close(net(x), wanted)
        assert placed(the_plan(net), "weight", inputs=False) == [lies]


if __name__ == "__main__":
    run(dict(globals()), sys.argv[1:])
