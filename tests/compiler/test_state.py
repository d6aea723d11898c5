"""Attributes, containers, and variables that a compiled function changes: the same as in eager mode."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

TOTAL = 0


def vector(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


def plain(value: Any) -> Any:
    """A value as lists and numbers."""
    if isinstance(value, Tensor):
        return value.asnumpy().round(4).tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list, deque)):
        return [plain(part) for part in value]
    if isinstance(value, (State, Notes)):
        return plain(vars(value))
    return value


class State:
    """An object of the user's, with a method that changes it."""

    def __init__(self) -> None:
        self.sum = None
        self.steps = 0

    def add(self, x: Tensor) -> Tensor:
        self.steps += 1
        self.sum = x if self.sum is None else self.sum + x
        return self.sum


@dataclass
class Notes:
    """A dataclass made inside of a program."""

    first: Any
    second: Any = None


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count, self.scale = 0, 0.5

    def construct(self, x):
        self.count += 1
        self.scale *= 2
        return x * self.count + self.scale


class Cache(nn.Cell):
    """Keys that grow, as attention keeps them."""

    def __init__(self):
        super().__init__()
        self.keys, self.position = None, 0

    def construct(self, x):
        self.keys = x if self.keys is None else ops.cat([self.keys, x])
        self.position += x.shape[0]
        return self.keys.sum()


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Cache(), Cache()])

    def construct(self, x):
        return sum(layer(x) for layer in self.layers)


class FixedCache(nn.Cell):
    def __init__(self):
        super().__init__()
        self.buffer, self.position = Tensor(np.zeros((5, 1), np.float32)), 0

    def construct(self, x):
        self.buffer[self.position] = x
        self.position += 1
        return self.buffer[: self.position].sum()


class Containers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.history, self.table = [vector(0)], {"n": 0, "x": vector(1)}
        self.last, self.seen = deque([1, 2, 3], maxlen=3), {1}
        self.counts, self.order = defaultdict(int), OrderedDict(a=1)

    def construct(self, x):
        self.history.append(x * 2)
        self.history[0] = x
        self.table["n"] += 1
        self.table["x"] = self.table["x"] * x
        self.table.setdefault("new", x)
        self.last.append(self.table["n"])
        self.seen.add(7)
        self.counts["z"] += 2
        self.order["b"] = x
        if "a" in self.order:
            del self.order["a"]
        return self.table["x"]


class InBranches(nn.Cell):
    def __init__(self):
        super().__init__()
        self.best, self.hits, self.held = None, 0, {"top": 0.0}

    def construct(self, x):
        if x.sum() > 1:
            self.hits += 1
            self.held["top"] = x.sum()
        if self.best is None or x.sum() > self.best.sum():
            self.best = x
        return self.best * self.hits


class InLoops(nn.Cell):
    def __init__(self):
        super().__init__()
        self.steps, self.level, self.pair = 0, vector(0), [vector(0), 0]

    def construct(self, x):
        while self.level.sum() < x.sum():
            self.level = self.level + 1
            self.steps += 1
            self.pair[0] = self.level
            self.pair[1] = self.pair[1] + 2
        for i in range(3):
            self.steps += i
        return self.level


class Properties(nn.Cell):
    def __init__(self):
        super().__init__()
        self._scale, self.log = 1.0, []

    @property
    def scale(self):
        return self._scale

    @scale.setter
    def scale(self, value):
        self._scale = value * 2
        self.log.append("set")

    def construct(self, x):
        self.scale = self.scale + 1
        return x * self.scale


class Objects(nn.Cell):
    def __init__(self):
        super().__init__()
        self.states = [State(), State()]

    def construct(self, x):
        notes = Notes(x)
        notes.second = self.states[0].add(x)
        return notes.second + self.states[1].add(x * 2)


class Nested(nn.Cell):
    """Containers inside of containers, which keep their identity."""

    def __init__(self):
        super().__init__()
        self.state = {"layers": [{"h": vector(0)}, {"h": vector(1)}], "n": [0, [1]]}
        self.layers, self.inner = self.state["layers"], self.state["n"][1]
        self.groups, self.names, self.merged = defaultdict(list), {"a"}, {"k": 1}

    def construct(self, x):
        for number, layer in enumerate(self.state["layers"]):
            layer["h"] = layer["h"] + x * number
        self.state["n"][1][0] += 1
        self.state["n"][0] += 2
        self.state["new"] = [x]
        self.groups["z"].append(x)
        self.names |= {"b"}
        self.merged |= {"k": 2, "x": x}
        self.state.get("layers")[0]["seen"] = x
        return self.layers[1]["h"] + self.inner[0]


class OneTensor(nn.Cell):
    """Two attributes that hold one tensor, which is then written in place."""

    def __init__(self):
        super().__init__()
        self.first = self.second = vector(0)

    def construct(self, x):
        self.first[0] = self.first[0] + 1
        seen = self.second * 1
        self.first = self.second = x * 2
        return seen


class InPlace(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mean, self.step = Tensor(np.zeros(1, np.float32)), Parameter(vector(0), name="step")

    def construct(self, x):
        self.mean[0] = self.mean[0] * 0.5 + x[0]
        self.step += 1
        return self.mean + self.step


class Total(nn.Cell):
    def construct(self, x):
        global TOTAL
        TOTAL += 1
        return x + TOTAL


CELLS = [
    Counter, Cache, Layers, FixedCache, Containers, InBranches, InLoops, Properties, Objects,
    Nested, OneTensor, InPlace, Total,
]  # fmt: skip
CALLS = (0.0, 2.0, 1.0, 3.0)


def state_of(cell: nn.Cell) -> Any:
    """Everything a cell and its parts hold."""
    own = {k: v for k, v in vars(cell).items() if not k.startswith(("_", "cell_", "param"))}
    own |= {"parameters": [p.value() for p in cell.get_parameters()]}
    known = (Tensor, State, int, float, list, dict, set, deque, type(None))
    found = {k: plain(v) for k, v in own.items() if isinstance(v, known)}
    return found, [state_of(part) for part in cell.cells()]


def run(cell: nn.Cell, mode: int) -> Any:
    global TOTAL
    TOTAL = 0
    ms.set_context(mode=mode)
    shape = (1, 1) if isinstance(cell, (Cache, Layers)) else (1,)
    results = [plain(cell(vector(number).reshape(shape))) for number in CALLS]
    return results, state_of(cell), TOTAL


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
def test_state_is_kept_as_in_eager_mode(kind: type[nn.Cell]):
    assert run(kind(), ms.GRAPH_MODE) == run(kind(), ms.PYNATIVE_MODE)


def test_state_is_no_reason_to_compile_again():
    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Counter()
    for number in range(5):
        cell(vector(number))
    assert len(cell._compiled().history) == 1


def test_modes_take_turns():
    cell, expected = InLoops(), InLoops()
    for number, mode in enumerate((1, 0, 1, 0, 0, 1)):
        ms.set_context(mode=mode)
        found = plain(cell(vector(number % 4)))
        ms.set_context(mode=ms.GRAPH_MODE)
        assert found == plain(expected(vector(number % 4)))
        assert state_of(cell) == state_of(expected)


def test_gradients_flow_into_state_of_this_call():
    class Recurrent(nn.Cell):
        def __init__(self):
            super().__init__()
            self.hidden, self.loss = vector(0, 0), None
            self.weight = Parameter(vector(1, 2), name="weight")

        def construct(self, x):
            self.hidden = self.hidden * 0.5 + x * self.weight
            self.loss = self.hidden.sum()
            return (self.hidden * self.hidden).sum() + self.loss

    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        cell = Recurrent()
        step = ms.value_and_grad(cell, 0, cell.trainable_params())
        found.append(([plain(step(vector(1, 3))) for _ in range(3)], state_of(cell)))
    assert found[0] == found[1]


@pytest.mark.parametrize("sink", [False, True])
def test_auxiliary_losses_and_counters_in_training(sink: bool):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
            self.count, self.auxiliary = 0, None
            self.register_buffer("mean", Tensor(np.zeros(2, np.float32)))

        def construct(self, x):
            y = self.dense(x)
            self.count += 1
            self.mean = self.mean * 0.9 + y.mean(0) * 0.1
            self.auxiliary = (y * y).mean()
            return y + self.mean

    rows = [(np.full((4, 3), i / 6, np.float32), np.ones((4, 2), np.float32)) for i in range(6)]
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = Net()
        optimizer = nn.SGD(net.trainable_params(), 0.01)
        data = ms.dataset.GeneratorDataset(rows, ["x", "y"], shuffle=False)
        model = ms.train.Model(net, nn.MSELoss(), optimizer)
        model.train(2, data, dataset_sink_mode=sink)
        assert net.count == 12
        found.append([net.dense.weight.asnumpy(), net.mean.asnumpy(), net.auxiliary.asnumpy()])
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-6)


def test_an_attribute_is_the_tensor_that_was_given():
    class Keeper(nn.Cell):
        def __init__(self):
            super().__init__()
            self.x = None

        def construct(self, x):
            self.x = x
            self.y = self.z = x * 2
            return self.y

    ms.set_context(mode=ms.GRAPH_MODE)
    cell, x = Keeper(), vector(1)
    result = cell(x)
    assert cell.x is x
    assert cell.y is cell.z is result


def enclosed(compiled: bool) -> Any:
    count, seen = 0, []

    def add(x: Tensor) -> Tensor:
        nonlocal count
        count += 1
        seen.append(count)
        return x + count

    fn = ms.jit(add) if compiled else add
    return [plain(fn(vector(1))) for _ in range(3)], count, seen


def test_variables_of_enclosing_functions_are_changed():
    assert enclosed(True) == enclosed(False)


# ---- exceptions --------------------------------------------------------------------------------


class Failing(nn.Cell):
    def __init__(self, known: bool):
        super().__init__()
        self.known, self.count, self.seen = known, 0, []
        self.p = Parameter(vector(0), name="p")

    def construct(self, x):
        self.p += 1
        self.count += 1
        self.seen.append(x)
        if self.known or x.sum() > 0:
            raise ValueError("too large")
        self.p += 1
        return self.p


@pytest.mark.parametrize("known", [False, True])
def test_what_happens_before_an_exception_is_kept(known: bool):
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        cell = Failing(known)
        for _ in range(2):
            with pytest.raises(ValueError, match="too large"):
                cell(vector(1))
        found.append(state_of(cell))
    assert found[0] == found[1]


def test_prints_before_an_exception_appear(capsys: pytest.CaptureFixture[str]):
    @ms.jit
    def fails(x: Tensor) -> Tensor:
        print("before", x)
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fails(vector(1))
    assert "before" in capsys.readouterr().out


def test_a_failed_compilation_leaves_attributes_alone():
    class Wrong(nn.Cell):
        def __init__(self):
            super().__init__()
            self.x, self.items = vector(1), [1]

        def construct(self, x):
            self.x[0] = x[0]
            self.items.append(x)
            yield x

    class Around(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner, self.y = Wrong(), vector(2)

        def construct(self, x):
            return self.inner(x)

    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Around()
    with pytest.raises(SyntaxError):
        cell(vector(5))
    assert plain(cell.inner.x) == [1] and cell.inner.items == [1]


# ---- values that are not the same kind of thing on all paths ---------------------------------


def none_or_tensor(x: Tensor) -> Any:
    found = None
    if x.sum() > 0:
        found = x * 2
    y = x + 1
    return y if found is None else y + found


def shapes_differ(x: Tensor) -> Any:
    if x.sum() > 0:
        return x
    return ops.cat([x, x])


def dtypes_differ(x: Tensor) -> Any:
    y = x.astype(ms.int32) if x.sum() > 0 else x
    return y * 2


def grows(x: Tensor) -> Any:
    while x.sum() < 10:
        x = ops.cat([x, x])
    return x


def nothing_on_one_path(x: Tensor) -> Any:
    if x.sum() > 0:
        return x


def text_or_number(x: Tensor) -> Any:
    name = "large" if x.sum() > 0 else 3
    return x * len(name) if isinstance(name, str) else x * name


@pytest.mark.parametrize(
    "fn",
    [none_or_tensor, shapes_differ, dtypes_differ, grows, nothing_on_one_path, text_or_number],
    ids=lambda fn: fn.__name__,
)
@pytest.mark.parametrize("number", [1.0, -1.0])
def test_paths_may_differ_in_kind(fn: Callable[..., Any], number: float):
    if fn is grows and number < 0:
        number = 20.0
    x = vector(number, 2 * number)
    found, expected = ms.jit(fn)(x), fn(x)
    assert plain(found) == plain(expected)
    if isinstance(expected, Tensor):
        assert found.dtype is expected.dtype


# ---- recursion ---------------------------------------------------------------------------------


def even_or_odd(n: Tensor, x: Tensor) -> Tensor:
    def even(n: Tensor, x: Tensor) -> Tensor:
        if n == 0:
            return x
        return odd(n - 1, x * 2)

    def odd(n: Tensor, x: Tensor) -> Tensor:
        if n == 0:
            return x + 1
        return even(n - 1, x + 3)

    return even(n, x)


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_inner_functions_that_call_each_other(n: int):
    compiled = ms.jit(even_or_odd)
    assert plain(compiled(Tensor(n), vector(1, 2))) == plain(even_or_odd(Tensor(n), vector(1, 2)))


def test_gradients_of_inner_functions_that_call_each_other():
    found = ms.jit(ms.grad(even_or_odd, 1))(Tensor(5), vector(1, 2))
    assert plain(found) == plain(ms.grad(even_or_odd, 1)(Tensor(5), vector(1, 2)))


def test_nested_containers_keep_their_identity():
    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Nested()
    for _ in range(2):
        cell(vector(1))
    assert cell.layers is cell.state["layers"] and cell.inner is cell.state["n"][1]
    assert cell.inner == [3]


def test_an_attribute_and_a_result_may_be_a_list_of_others():
    class Sharing(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = [vector(1)], None

        def construct(self, x):
            self.second = self.first
            self.second.append(x)
            return self.first

    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Sharing()
    assert cell(vector(2)) is cell.first is cell.second
    assert plain(cell(vector(3))) == [[1], [2], [3]]


def test_copies_keep_their_own_state():
    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Counter()
    cell(vector(1))
    other = copy.deepcopy(cell)
    other(vector(1))
    assert (cell.count, other.count) == (1, 2)


def test_containers_among_the_arguments_are_changed():
    def change(items: list[Any], table: dict[str, Any], x: Tensor) -> Any:
        items.append(x)
        items[0] = x * 2
        table["n"] += 1
        table["last"] = items[-1]
        if x.sum() > 0:
            table["n"] += 10
        return items[0] + table["n"]

    found = []
    for fn in (change, ms.jit(change)):
        items, table = [vector(1)], {"n": 1}
        results = [plain(fn(items, table, vector(number))) for number in (1, -2)]
        found.append((results, plain(items), plain(table)))
        assert table["last"] is items[-1]
    assert found[0] == found[1]


def test_each_call_returns_and_stores_constants_as_new_tensors():
    base = Tensor(np.array([1.0, 2.0], np.float32))
    kept = SimpleNamespace(tensor=None, items=None)

    @ms.jit
    def constants(x):
        kept.tensor = base * 3
        kept.items = [ops.zeros((2,)), Tensor([4.0]), x]
        return base * 2

    for _ in range(3):
        result = constants(base)
        for tensor, expected in (
            (result, [2.0, 4.0]),
            (kept.tensor, [3.0, 6.0]),
            (kept.items[0], [0.0, 0.0]),
            (kept.items[1], [4.0]),
        ):
            assert tensor.asnumpy().tolist() == expected
            tensor.add_(10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ms.tensor([1.0, 2.0]),
        lambda: Tensor.from_numpy(np.ones(2)),
        lambda: (Tensor([1.0, 2.0]) * 2).view(-1),
    ],
    ids=["tensor", "from_numpy", "view"],
)
def test_tensors_that_tracing_creates_are_new_in_each_call(make):
    compiled = ms.jit(lambda x: make())
    first = compiled(Tensor([1.0]))
    expected = first.asnumpy().copy()
    first.add_(5)
    assert np.array_equal(compiled(Tensor([1.0])).asnumpy(), expected)
