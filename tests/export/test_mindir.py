"""Export and load: what was stored computes the same, and wrong files are refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.serialization import pack, unpack
from mycelia._engine.operators.operator import REGISTRY, Vjp
from mycelia._engine.operators.serializable import vocabulary
from tests.ir.test_file import OTHERS, _places, parts, sealed


def through_file(folder: Path, fn: Any, *inputs: Any) -> nn.Cell:
    """`fn` exported for these inputs, loaded, as a cell."""
    ms.export(fn, *inputs, file_name=str(folder / "model"), file_format="MINDIR")
    return nn.GraphCell(ms.load(str(folder / "model.mindir")))


def assert_same(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for one, other in zip(got, expected):
            assert_same(one, other)
    elif isinstance(expected, Tensor):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
    else:
        assert type(got) is type(expected) and got == expected


class Net(nn.Cell):
    """Convolution, normalization, pooling, dropout, a dense layer."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
        self.pool, self.flat = nn.MaxPool2d(2, 2), nn.Flatten()
        self.drop, self.dense = nn.Dropout(p=0.5), nn.Dense(8, 3)

    def construct(self, x):
        x = self.pool(ops.relu(self.norm(self.conv(x))))
        return self.dense(self.drop(self.flat(x)))


IMAGES = Tensor(np.random.default_rng(0).normal(size=(2, 1, 4, 4)).astype(np.float32))
LABELS = Tensor(np.array([0, 2], np.int32))
X = Tensor([1.0, 2.0])


# ---- the same results ---------------------------------------------------------------------------


def test_a_network_for_inference(tmp_path: Path):
    net = Net().set_train(False)
    cell = through_file(tmp_path, net, IMAGES)
    assert_same(cell(IMAGES), net(IMAGES))


def test_parameters_have_their_names_and_numbers(tmp_path: Path):
    net = Net().set_train(False)
    cell = through_file(tmp_path, net, IMAGES)
    stored = {p.name: p for p in cell.get_parameters()}
    assert set(stored) == {p.name for p in net.get_parameters()}
    for parameter in net.get_parameters():
        found = stored[parameter.name]
        assert found.requires_grad == parameter.requires_grad
        assert found.asnumpy().tobytes() == parameter.asnumpy().tobytes()


def test_random_draws_and_running_means_of_training(tmp_path: Path):
    net = Net().set_train(True)
    cell = through_file(tmp_path, net, IMAGES)
    ms.set_seed(1)
    expected = [net(IMAGES) for _ in range(3)]
    ms.set_seed(1)
    assert_same([cell(IMAGES) for _ in range(3)], expected)
    means = {p.name: p for p in cell.get_parameters()}["norm.moving_mean"]
    assert_same(Tensor(means.asnumpy()), Tensor(net.norm.moving_mean.asnumpy()))


@pytest.mark.parametrize("optimizer", [nn.Momentum, nn.Adam], ids=lambda c: c.__name__)
def test_a_training_step_with_its_optimizer(tmp_path: Path, optimizer: Any):
    net = Net()
    options = {"momentum": 0.9} if optimizer is nn.Momentum else {}
    update = optimizer(net.trainable_params(), learning_rate=0.1, **options)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), update).set_train()
    cell = through_file(tmp_path, step, IMAGES, LABELS)
    ms.set_seed(2)
    expected = [step(IMAGES, LABELS) for _ in range(4)]
    ms.set_seed(2)
    assert_same([cell(IMAGES, LABELS) for _ in range(4)], expected)
    weight = {p.name: p for p in cell.get_parameters()}[net.dense.weight.name]
    assert_same(Tensor(weight.asnumpy()), Tensor(net.dense.weight.asnumpy()))


def branches(x, n):
    """A choice, a loop with a choice inside, random numbers drawn as often as the loop runs."""
    total = x.sum()
    while total < n:
        if total > 5:
            x = x + 3
        else:
            x = ops.cumsum(x * 2, 0)
        total = total + x.sum()
    return x, total, n + 1


def drawn_in_loop(x, n):
    while x.sum() < n:
        x = x + ops.dropout(ops.ones_like(x), 0.5, True)
    return x


def answers(x, n):
    return {"all": [x * n, (x.max(), n)], "n": n, "name": "x", "none": None, "three": 3}


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (branches, (X, 40)),
    (answers, (X, 2)),
    (answers, (X, 2.5)),
    (ms.jit(lambda x: ops.sort(x)), (X,)),
    (ms.vmap(lambda x, y: ops.matmul(x, y), (0, None)), (Tensor(np.eye(3)), Tensor(np.eye(3)))),
    (ms.grad(lambda x: ops.softmax(x)[0]), (X,)),
    (ms.grad(lambda x: branches(x, 40)[0].sum()), (X,)),
    (ms.value_and_grad(lambda x: ops.logsumexp(x, 0) * ops.erf(x).sum()), (X,)),
    (lambda x, parts: parts[0] + parts[1]["a"] * x, (X, [X, {"a": X}])),
    (lambda x, y: x.reshape(y.shape), (X, Tensor([[1], [2]], ms.int64))),
    (lambda x: (x.astype(ms.bfloat16), x.astype(ms.float16), x > 1, ops.Complex()(x, x)), (X,)),
    (lambda x: x[None, ::-1, ...][0, 1:], (X,)),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_give_what_they_gave(tmp_path: Path, number: int):
    fn, inputs = PROGRAMS[number]
    assert_same_answers(through_file(tmp_path, fn, *inputs)(*inputs), ms.jit(fn)(*inputs))


def assert_same_answers(got: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        got, expected = list(got.values()), list(expected.values())
        for one, other in zip(got, expected):
            assert_same(one, other)
    else:
        assert_same(got, expected)


def test_numbers_stay_inputs(tmp_path: Path):
    cell = through_file(tmp_path, branches, X, 40)
    for n in (0, 7, 100):
        assert_same(cell(X, n), branches(X, n))


def test_random_numbers_drawn_in_a_loop(tmp_path: Path):
    cell, compiled = through_file(tmp_path, drawn_in_loop, X, 40), ms.jit(drawn_in_loop)
    ms.set_seed(4)
    expected = [compiled(X, 30), ops.dropout(X, 0.5, True), compiled(X, 60)]
    ms.set_seed(4)
    assert_same([cell(X, 30), ops.dropout(X, 0.5, True), cell(X, 60)], expected)


def test_arguments_are_written(tmp_path: Path):
    def fill(x, y):
        x[0] = y
        return x.sum()

    cell = through_file(tmp_path, fill, Tensor([1.0, 2.0]), Tensor(5.0))
    x = Tensor([1.0, 2.0])
    assert float(cell(x, Tensor(7.0))) == 9
    assert x.asnumpy().tolist() == [7, 2]


def test_parameters_are_written(tmp_path: Path):
    count = Parameter(Tensor([0.0]), name="count", requires_grad=False)

    def step(x):
        count.set_data(count + x)
        return count * 2

    cell = through_file(tmp_path, step, Tensor([1.0]))
    assert [cell(Tensor([2.0])).asnumpy().item() for _ in range(3)] == [4, 8, 12]
    (found,) = cell.get_parameters()
    assert (found.name, found.requires_grad, found.asnumpy().item()) == ("count", False, 6)
    assert count.asnumpy().item() == 0


def test_parameters_of_one_name_stay_apart(tmp_path: Path):
    a, b = (Parameter(Tensor([v]), name="w") for v in (1.0, 2.0))
    cell = through_file(tmp_path, lambda x: x * a + b, Tensor([10.0]))
    assert cell(Tensor([10.0])).asnumpy().tolist() == [12]
    assert [p.name for p in cell.get_parameters()] == ["w", "w_2"]


def test_arrays_shared_with_numpy_are_stored(tmp_path: Path):
    array = np.array([1.0, 2.0], np.float32)
    shared = Tensor.from_numpy(array)
    cell = through_file(tmp_path, lambda x: x * shared, X)
    array[:] = 0
    assert cell(X).asnumpy().tolist() == [1, 4]


def test_variables_without_a_value_are_still_found(tmp_path: Path):
    def sometimes(x, n):
        if n > 2:
            y = x * 2
        return y

    cell = through_file(tmp_path, sometimes, X, 3)
    assert cell(X, 3).asnumpy().tolist() == [2, 4]
    with pytest.raises(UnboundLocalError, match="'y' has no value"):
        cell(X, 1)


# ---- as a part of something else ----------------------------------------------------------------


def test_in_graph_mode_and_inside_a_compiled_function(tmp_path: Path):
    net = Net().set_train(False)
    cell = through_file(tmp_path, net, IMAGES)
    expected = net(IMAGES)
    assert_same(ms.jit(lambda x: cell(x) * 2 + cell(x))(IMAGES), expected * 3)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert_same(nn.SequentialCell(cell, nn.Softmax())(IMAGES), ops.softmax(expected))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_in_a_branch_of_a_compiled_function_it_writes_only_there(tmp_path: Path):
    count = Parameter(Tensor([0.0]), name="count")

    def step(x):
        count.set_data(count + 1)
        return x * count

    cell = through_file(tmp_path, step, Tensor([1.0]))

    def maybe(x, n):
        y = x
        for _ in range(3):
            if y.sum() < n:
                y = y + cell(x)
        return y

    assert ms.jit(maybe)(Tensor([1.0]), 3).asnumpy().tolist() == [4]
    assert next(iter(cell.get_parameters())).asnumpy().tolist() == [2]


def test_gradients_flow_through_it(tmp_path: Path):
    net = Net().set_train(False)
    cell = through_file(tmp_path, net, IMAGES)
    weights = net.trainable_params()
    mine = {p.name: p for p in cell.get_parameters()}
    same = [mine[w.name] for w in weights]
    expected = ms.grad(lambda x: net(x).sum(), 0, weights)(IMAGES)
    assert_same(ms.grad(lambda x: cell(x).sum(), 0, same)(IMAGES), expected)
    compiled = ms.jit(lambda x: ms.grad(lambda x: cell(x).sum(), 0, same)(x))
    assert_same(compiled(IMAGES), expected)


def test_gradients_of_loops_and_of_gradients(tmp_path: Path):
    cell = through_file(tmp_path, lambda x: branches(x, 40)[0].sum(), X)
    assert_same(ms.grad(cell)(X), ms.grad(lambda x: branches(x, 40)[0].sum())(X))
    cube = through_file(tmp_path, lambda x: (x * x * x).sum(), X)
    assert_same(ms.grad(lambda x: ms.grad(cube)(x).sum())(X), X * 6)


def test_what_was_loaded_can_be_trained_and_exported_again(tmp_path: Path):
    net = Net().set_train(False)
    cell = through_file(tmp_path, net, IMAGES)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    update = nn.SGD(cell.trainable_params(), learning_rate=0.1)
    step = nn.TrainOneStepCell(nn.WithLossCell(cell, loss), update)
    losses = [float(step(IMAGES, LABELS)) for _ in range(5)]
    assert losses[-1] < losses[0]
    again = through_file(tmp_path, cell, IMAGES)
    assert_same(again(IMAGES), cell(IMAGES))


def test_a_stored_gradient_of_a_loop_says_when_its_stacks_are_too_small(tmp_path: Path):
    def passes(x, n):
        i = 0
        while i < n:
            x = x * ops.sin(x)
            i = i + 1
        return x.sum()

    gradient = ms.grad(passes)
    cell = through_file(tmp_path, gradient, X, 3)
    assert_same(cell(X, 9), gradient(X, 9))
    with pytest.raises(RuntimeError, match="more iterations than its gradient can store"):
        cell(X, 1000)
        np.asarray(cell(X, 9))


def test_params_init_gives_other_numbers(tmp_path: Path):
    w = Parameter(Tensor([2.0]), name="w")
    ms.export(lambda x: x * w, Tensor([1.0]), file_name=str(tmp_path / "m"))
    graph = ms.load(str(tmp_path / "m.mindir"))
    cell = nn.GraphCell(graph, params_init={"w": Tensor([5.0]), "other": Tensor([1.0])})
    assert cell(Tensor([3.0])).asnumpy().tolist() == [15]
    assert nn.GraphCell(graph)(Tensor([3.0])).asnumpy().tolist() == [6]
    with pytest.raises(TypeError, match="params_init"):
        nn.GraphCell(graph, params_init=[1])
    with pytest.raises(TypeError, match="must be str"):
        nn.GraphCell(graph, params_init={"w": 1})
    with pytest.raises(TypeError, match="mycelia.load"):
        nn.GraphCell("m.mindir")
    with pytest.raises(ValueError, match="a different shape"):
        nn.GraphCell(graph, params_init={"w": Tensor([5.0, 1.0])})


# ---- every operator -----------------------------------------------------------------------------

CASES = [
    (name, case)
    for name, cls in sorted(REGISTRY.items())
    if cls.__module__.startswith("mycelia.ops.")
    for case in cls.examples
]


def test_every_operator_and_its_default_gradient_come_back():
    words = vocabulary()
    for name, case in CASES:
        op = REGISTRY[name](**case.fields)
        graph = Graph("g")
        graph.output = graph.apply(op, graph.apply(Vjp(op, ((1, None), "x")), graph.parameter("x")))
        found, _ = unpack(b"".join(pack(graph, {}, words)), words)
        assert found.output.fn.value == op, name
        assert found.output.args[0].fn.value == Vjp(op, ((1, None), "x")), name
    assert len(CASES) > 500


def test_operators_have_names_of_their_own():
    words = vocabulary().operators
    assert words["Add"] is ops.Add and words["operator.Vjp"] is Vjp
    assert not {"Custom", "Effect", "PrimitiveWithInfer"} & set(words)


# ---- what is refused ----------------------------------------------------------------------------


def test_printing_is_refused_with_the_line(tmp_path: Path):
    def chatty(x):
        print(x)
        return x * 2

    with pytest.raises(RuntimeError, match="cannot store the operator effect") as error:
        through_file(tmp_path, chatty, X)
    assert "print(x)" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_users_operators_are_refused(tmp_path: Path):
    class Twice(ops.PrimitiveWithInfer):
        def infer_shape(self, x):
            return x

        def infer_dtype(self, x):
            return x

        def lower(self, x):
            return x * 2

    with pytest.raises(RuntimeError, match="cannot store the operator Twice") as error:
        through_file(tmp_path, lambda x: Twice()(x), X)
    assert "test_mindir.py" in str(error.value)


def test_what_is_no_single_program_is_refused(tmp_path: Path):
    with pytest.raises(RuntimeError, match="not compile to a single program"):
        through_file(tmp_path, lambda x: ops.nonzero(x), X)


def test_functions_among_inputs_and_results_are_refused(tmp_path: Path):
    with pytest.raises(RuntimeError, match="cannot hold an input of this type"):
        through_file(tmp_path, lambda f, x: f(x), ops.relu, X)
    with pytest.raises(RuntimeError, match="cannot hold a result of this type"):
        through_file(tmp_path, lambda x: lambda y: x + y, X)


@pytest.mark.parametrize("kind", ["ONNX", "AIR"])
def test_other_formats_are_not_there_yet(tmp_path: Path, kind: str):
    with pytest.raises(ValueError, match=f"the format {kind} is not supported yet[\\s\\S]*ONNX"):
        ms.export(ops.relu, X, file_name=str(tmp_path / "m"), file_format=kind)
    with pytest.raises(ValueError, match="must be one of"):
        ms.export(ops.relu, X, file_name=str(tmp_path / "m"), file_format="TXT")


def test_an_encrypted_program_needs_its_key(tmp_path: Path):
    name = str(tmp_path / "m")
    ms.export(ops.relu, X, file_name=name, enc_key=b"0" * 16)
    cell = nn.GraphCell(ms.load(f"{name}.mindir", dec_key=b"0" * 16))
    assert cell(X).asnumpy().tolist() == ops.relu(X).asnumpy().tolist()
    with pytest.raises(RuntimeError, match="cannot be decrypted"):
        ms.load(f"{name}.mindir", dec_key=b"1" * 16)
    with pytest.raises(ValueError):
        ms.load(f"{name}.mindir")


def test_a_parameter_that_is_an_input_stays_one(tmp_path: Path):
    name = str(tmp_path / "m")
    ms.export(lambda x: x * 2, Parameter(Tensor([1.0, 2.0]), name="p"), file_name=name)
    assert nn.GraphCell(ms.load(f"{name}.mindir"))(Tensor([3.0, 4.0])).asnumpy().tolist() == [6, 8]


def test_options_that_change_the_file_are_not_ignored(tmp_path: Path):
    with pytest.raises(ValueError, match="dataset"):
        ms.export(ops.relu, X, file_name=str(tmp_path / "m"), dataset=1)


@pytest.mark.parametrize(
    "inputs, match",
    [
        ((Tensor([1.0]), 2), "input 0[\\s\\S]*a tensor f32\\[1\\][\\s\\S]*a tensor f32\\[2\\]"),
        ((Tensor([1, 2]), 2), "a tensor i64\\[2\\]"),
        ((np.ones(2, np.float32), 2), "input 0"),
        ((X, 2.5), "input 1[\\s\\S]*a Python int"),
        ((X, X), "input 1"),
        ((X,), "tuple of 1[\\s\\S]*tuple of 2"),
    ],
)
def test_other_inputs_are_refused(tmp_path: Path, inputs: tuple[Any, ...], match: str):
    cell = through_file(tmp_path, branches, X, 4)
    with pytest.raises(ValueError, match=match):
        cell(*inputs)


def test_inputs_that_decided_must_be_the_same(tmp_path: Path):
    cell = through_file(tmp_path, lambda x, up, k: x[:k] if up else x, X, True, 1)
    assert cell(X, True, 1).asnumpy().tolist() == [1]
    for other in ((X, False, 1), (X, True, 2), (X, 1, 1)):
        with pytest.raises(ValueError, match="exported for a different kind of input"):
            cell(*other)


# ---- files --------------------------------------------------------------------------------------


def test_the_suffix_is_added_once(tmp_path: Path):
    for name in ("one", "two.mindir", "folder/three"):
        ms.export(ops.relu, X, file_name=str(tmp_path / name))
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert found == ["folder/three.mindir", "one.mindir", "two.mindir"]


def test_what_is_loaded_can_be_looked_at(tmp_path: Path):
    ms.export(ops.relu, X, file_name=str(tmp_path / "m"))
    graph = ms.load(str(tmp_path / "m.mindir"))
    assert "ReLU(x0)" in str(graph)
    assert repr(graph) == "Model(relu: f32[2])"


def test_missing_and_foreign_files(tmp_path: Path):
    with pytest.raises(ValueError, match="does not exist"):
        ms.load(str(tmp_path / "m.mindir"))
    with pytest.raises(ValueError, match="should end with"):
        ms.load(str(tmp_path / "m.ckpt"))
    (tmp_path / "m.mindir").write_bytes(b"\x0a\x051.0.0")
    with pytest.raises(ValueError, match="not a Mycelia MindIR file"):
        ms.load(str(tmp_path / "m.mindir"))


def load_changed(folder: Path, change: Any) -> Any:
    """Load a file with a right checksum whose text was changed."""
    path = folder / "m.mindir"
    ms.export(branches, X, 40, file_name=str(path))
    header, arrays = parts(path.read_bytes())
    change(header)
    path.write_bytes(sealed(json.dumps(header).encode(), arrays))
    return ms.load(str(path))


def about(header: dict[str, Any], key: str) -> list[Any]:
    return next(pair for pair in header["about"]["dict"] if pair[0] == key)


def test_wrong_types_are_found(tmp_path: Path):
    load_changed(tmp_path, lambda header: None)

    def wrong_node(header: dict[str, Any]) -> None:
        node = next(n for n in header["graphs"][0]["nodes"] if n["type"] == "f32[]")
        node["type"] = "f32[3]"

    with pytest.raises(ValueError, match="but inferred as f32\\[\\]"):
        load_changed(tmp_path, wrong_node)

    def wrong_input(header: dict[str, Any]) -> None:
        header["graphs"][0]["parameters"][0][1] = "f32[3]"

    with pytest.raises(ValueError, match="not contain a valid program"):
        load_changed(tmp_path, wrong_input)

    def wrong_count(header: dict[str, Any]) -> None:
        about(header, "results")[1] = 7

    with pytest.raises(ValueError, match="7 results, but 3"):
        load_changed(tmp_path, wrong_count)


def test_a_graph_inside_itself_is_refused(tmp_path: Path):
    def inside(header: dict[str, Any]) -> None:
        loop = next(n for n in header["graphs"][0]["nodes"] if "graph" in json.dumps(n["to"]))
        loop["to"][0]["constant"]["graph"] = 0

    with pytest.raises(ValueError, match="recursive graph"):
        load_changed(tmp_path, inside)


@pytest.mark.parametrize("seed", range(200))
def test_files_changed_on_purpose_load_or_are_refused(tmp_path: Path, seed: int):
    choose = random.Random(seed)

    def change(header: dict[str, Any]) -> None:
        holder, key = choose.choice(list(_places(header)))
        holder[key] = choose.choice(OTHERS)

    try:
        model = load_changed(tmp_path, change)
    except (ValueError, RuntimeError) as error:
        assert str(error)
    else:
        nn.GraphCell(model)


def test_cut_and_flipped_files_are_refused(tmp_path: Path):
    path = tmp_path / "m.mindir"
    ms.export(Net(), IMAGES, file_name=str(path))
    data = path.read_bytes()
    choose = random.Random(0)
    for _ in range(200):
        changed = bytearray(data)
        changed[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        path.write_bytes(changed if choose.random() < 0.5 else data[: choose.randrange(len(data))])
        with pytest.raises(ValueError):
            ms.load(str(path))
