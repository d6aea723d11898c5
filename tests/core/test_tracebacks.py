"""Tracebacks end near the user's line, and misspelled names get a suggestion."""

import importlib
import inspect
import pickle
import traceback
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops, train
from mycelia import dataset as ds
from mycelia._engine.core.tracebacks import FULL
from mycelia.dataset import audio, vision

X = Tensor(np.ones((2, 3), np.float32))
Y = Tensor(np.ones((2, 4), np.float32))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 8)

    def construct(self, x: Any) -> Any:
        return self.dense(x)


def weights() -> list[Parameter]:
    return [Parameter(Tensor([1.0]), name="w")]


def rows() -> ds.Dataset:
    return ds.NumpySlicesDataset([1, 2, 3], ["a"])


MISTAKES: dict[str, Callable[[], Any]] = {
    "operator": lambda: ops.matmul(X, Y),
    "method": lambda: X.reshape(4, 2),
    "arithmetic": lambda: X + Y,
    "subscript": lambda: X[0, 0, 0],
    "assignment": lambda: X.__setitem__(9, 1),
    "layer": lambda: nn.Dense(4, 8)(X),
    "network": lambda: Net()(X),
    "loss": lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True)(X, X),
    "gradient": lambda: ms.grad(Net())(X),
    "compiled": lambda: ms.jit(lambda x, y: x + y)(X, Y),
    "mapped": lambda: ms.vmap(lambda x: x, in_axes=5)(X),
    "optimizer": lambda: nn.Adam(Net()),
    "rate": lambda: nn.Adam(weights(), -1.0),
    "context": lambda: ms.set_context(mode="graph"),
    "device": lambda: ms.set_device("CUDA"),
    "metric": lambda: train.Model(Net(), metrics={"acuracy"}),
    "update": lambda: train.Accuracy().update(X),
    "predict": lambda: train.Model(Net()).predict(X),
    "checkpoint": lambda: ms.save_checkpoint(3, "x.ckpt"),
    "random": lambda: ops.randn("a"),
    "dtype": lambda: X.astype("flot32"),
    "device of a tensor": lambda: X.to("cuda"),
    "position": lambda: X.argmax(5),
    "mint": lambda: ms.mint.cat((X, X[0])),
    "mint function": lambda: ms.mint.nn.functional.softmax(X, 9),
    "scaler": lambda: ms.amp.DynamicLossScaler("a", 1, 1),
    "step of a dataset": lambda: rows().batch(0),
    "source of a dataset": lambda: ds.MnistDataset(".", usage="trian"),
    "column": lambda: rows().map(lambda x: x, "b"),
    "transform": lambda: vision.Normalize(mean=[1.0], std=[0.0]),
    "value of a transform": lambda: vision.Resize((4, 4))(np.ones((3,))),
    "audio": lambda: audio.Gain("a"),
    "weights": lambda: ms.grad(Net(), None, Net())(X),
    "step": lambda: nn.TrainOneStepCell(Net(), 3),
}


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("name", MISTAKES)
def test_at_most_three_frames_of_the_framework_follow_the_users_line(name: str, mode: int):
    ms.set_context(mode=mode)
    with pytest.raises(Exception) as caught:
        MISTAKES[name]()
    assert len(behind_the_user(caught.value)) <= 3
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_the_environment_can_ask_for_all_frames(monkeypatch):
    monkeypatch.setenv(FULL, "1")
    with pytest.raises(ValueError) as caught:
        X.reshape(4, 2)
    assert len(behind_the_user(caught.value)) > 3


def test_an_error_that_is_not_explained_keeps_its_frames():
    def broken(x):
        return ops.HyperMap()(len, [1])

    with pytest.raises(TypeError) as caught:
        ms.grad(broken)(X)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "_map" in names and "broken" in names


PLAIN: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda x: x.missing,
    "number of arguments": lambda x: ops.relu(x, 2, 3),
    "arguments of a user's function": lambda x: weights(x),
    "argument of a method": lambda x: x.sum(axs=1),
    "name": lambda x: undefined + x,  # type: ignore[name-defined]  # noqa: F821
    "index": lambda x: [1, 2][5] * x,
    "key": lambda x: {}["k"] * x,
    "types": lambda x: x * ("a" + 1),  # type: ignore[operator]
    "module": lambda x: ops.not_there(x),
    "number": lambda x: int("abc") * x,
    "division": lambda x: 1 // 0 * x,
    "length": lambda x: x * len(5),  # type: ignore[arg-type]
    "truth": lambda x: x if x else -x,
    "call": lambda x: x(3),
}
WAYS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "plain": lambda fn: fn,
    "jit": ms.jit,
    "grad": ms.grad,
    "value_and_grad": ms.value_and_grad,
    "GradOperation": lambda fn: ops.GradOperation()(fn),
    "vmap": ms.vmap,
    "jit of grad": lambda fn: ms.jit(ms.grad(fn)),
    "grad of jit": lambda fn: ms.grad(ms.jit(fn)),
}


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mistake", PLAIN)
def test_errors_of_plain_python_keep_no_frames_of_the_framework(mistake: str, way: str, mode: int):
    ms.set_context(mode=mode)
    fn = PLAIN[mistake]
    with pytest.raises(Exception) as caught:
        WAYS[way](fn)(X)
    assert most_frames_in_between(caught.value) <= 3
    notes = "".join(getattr(caught.value, "__notes__", ()))
    frames = traceback.extract_tb(caught.value.__traceback__)
    line = f'"{mistake}": lambda x'
    assert line in notes or line in str(caught.value) or any(line in str(f.line) for f in frames)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("args", [(X,), (X, X, X)])
def test_wrong_numbers_of_arguments_keep_no_frames_of_the_framework(way: str, mode: int, args: Any):
    def add(x, y):
        return x + y

    ms.set_context(mode=mode)
    with pytest.raises(TypeError, match="add.*argument") as caught:
        WAYS[way](add)(*args)
    assert most_frames_in_between(caught.value) <= 3


def most_frames_in_between(error: BaseException) -> int:
    """The longest run of frames that are not of this file."""
    most = count = 0
    for frame in traceback.extract_tb(error.__traceback__):
        count = 0 if frame.filename == __file__ else count + 1
        most = max(most, count)
    return most


def test_an_earlier_error_of_the_user_stays_visible():
    with pytest.raises(ValueError) as caught:
        try:
            _ = {}["key"]
        except KeyError:
            ops.matmul(X, Y)
    assert isinstance(caught.value.__context__, KeyError)
    assert not caught.value.__suppress_context__


def behind_the_user(error: BaseException) -> list[str]:
    """The functions in the traceback after the last line of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    last = max(place for place, frame in enumerate(frames) if frame.filename == __file__)
    return [frame.name for frame in frames[last + 1 :]]


# ---- suggestions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mistake", "kind", "text"),
    [
        (lambda: nn.Dense(4, 8, has_bais=True), TypeError, "did you mean 'has_bias'"),
        (lambda: nn.Adam(weights(), learning_rat=0.1), KeyError, "did you mean .*learning_rate"),
        (lambda: nn.Momentum(weights(), 0.1, momentun=0.9), TypeError, "did you mean 'momentum'"),
        (lambda: nn.Densee, AttributeError, "did you mean 'Dense'"),
        (lambda: ops.rleu, AttributeError, "did you mean 'relu'"),
        (lambda: train.Modle, AttributeError, "did you mean 'Model'"),
        (lambda: ms.Tensro, AttributeError, "did you mean 'Tensor'"),
        (lambda: train.get_metric_fn("acuracy"), KeyError, "did you mean .*accuracy"),
        (lambda: ms.set_context(device_target="CUDA"), ValueError, "did you mean 'GPU'"),
        (lambda: ms.set_device("cpu"), ValueError, "did you mean 'CPU'"),
        (lambda: ms.set_context(moed=0), ValueError, "did you mean 'mode'"),
        (lambda: X.astype("flot32"), TypeError, "did you mean 'float32'"),
        (lambda: nn.Dense(4, 8, weight_init="nromal"), ValueError, "did you mean 'normal'"),
        (lambda: nn.get_activation("rleu"), KeyError, "did you mean .*relu"),
        (lambda: nn.GRU(3, 4, batchfirst=True), TypeError, "GRU.*did you mean 'batch_first'"),
        (lambda: Tensor([1], dtyp=ms.int32), TypeError, "did you mean 'dtype'"),
        (lambda: Parameter(X, nam="a"), TypeError, "did you mean 'name'"),
        (lambda: train.Model(Net(), metric={"acc"}), ValueError, "did you mean 'metrics'"),
        (lambda: train.Model(Net()).train(1, rows(), callback=3), TypeError, "'callbacks'"),
        (lambda: train.EarlyStopping(moniter="loss"), TypeError, "did you mean 'monitor'"),
        (lambda: train.Accuracy(eval_typ="x"), TypeError, "did you mean 'eval_type'"),
        (lambda: rows().shuffle(buffersize=3), TypeError, "did you mean 'buffer_size'"),
        (lambda: X.to(devic="CPU"), TypeError, "did you mean 'device'"),
        (lambda: X.sum(axs=1), TypeError, r"Tensor.sum\(\) .*(\n.*)*did you mean 'axis'"),
        (lambda: X.add(othr=1), TypeError, r"Tensor.add\(\) .*(\n.*)*did you mean 'other'"),
        (lambda: nn.TrainOneStepCell(Net(), 3), AttributeError, "expected: +an optimizer"),
        (lambda: ms.grad(Net(), None, Net())(X), TypeError, r"pass net.trainable_params\(\)"),
        (lambda: nn.Adam(Net()), TypeError, r"pass net.trainable_params\(\)"),
        (lambda: ms.mint.optim.AdamW(Net()), TypeError, r"pass net.trainable_params\(\)"),
        (lambda: ms.experimental.optim.Adam(Net()), TypeError, r"pass net.trainable_params\(\)"),
    ],
)
def test_misspelled_names_get_a_suggestion(mistake, kind, text):
    with pytest.raises(kind, match=text):
        mistake()


IMAGE = Tensor(np.ones((1, 3, 8, 8), np.float32))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize(
    ("layer", "x", "text"),
    [
        (nn.Dense(4, 8), X, "Dense: the input does not fit in_channels=4"),
        (nn.Conv2d(4, 8, 3), IMAGE, "Conv2d: the input does not fit in_channels=4"),
        (nn.Conv1d(4, 8, 3), IMAGE[0], "Conv1d: the input does not fit in_channels=4"),
        (nn.Conv2dTranspose(4, 8, 3), IMAGE, "Conv2dTranspose: the input .* in_channels=4"),
        (nn.BatchNorm2d(4), IMAGE, "BatchNorm2d: the input does not fit num_features=4"),
        (nn.GroupNorm(2, 4), IMAGE, "GroupNorm: the input does not fit num_channels=4"),
        (nn.InstanceNorm2d(4), IMAGE, "InstanceNorm2d: the input does not fit num_features=4"),
        (nn.LayerNorm((4,)), X, "LayerNorm: the input does not fit normalized_shape=4"),
        (ms.mint.nn.Linear(4, 8), X, "Linear: the input does not fit in_features=4"),
        (nn.LSTM(4, 8), IMAGE[0], "input_size=4"),
        (nn.Embedding(10, 4), X, "Embedding: the ids must be integers"),
    ],
)
def test_layers_name_their_own_arguments(layer: nn.Cell, x: Tensor, text: str, mode: int):
    ms.set_context(mode=mode)
    with pytest.raises((ValueError, RuntimeError, TypeError), match=text):
        layer(x)


def test_key_errors_show_their_message_as_other_errors_do():
    with pytest.raises(KeyError) as caught:
        train.get_metric_fn("acuracy")
    assert str(caught.value).splitlines()[0] == "get_metric_fn: unknown metric 'acuracy'"
    assert traceback.format_exception_only(caught.value)[0].startswith("KeyError: get_metric_fn")
    assert type(pickle.loads(pickle.dumps(caught.value))) is KeyError


MODULES = """
mycelia mycelia.nn mycelia.train mycelia.ops mycelia.amp mycelia.boost mycelia.dataset
mycelia.dataset.vision mycelia.dataset.text mycelia.dataset.audio mycelia.dataset.transforms
mycelia.mint.nn mycelia.mint.optim mycelia.experimental.optim.lr_scheduler mycelia.mindrecord
mycelia.nn.probability.distribution mycelia.nn.probability.bijector mycelia.profiler
mycelia.parallel mycelia.rewrite mycelia.hal
""".split()
WITH_OTHER_CHECKS = {  # any keywords, none of their own, or objects that only the framework makes
    "Adam", "AutoBoost", "CheckpointConfig", "Dataset", "JitConfig", "Model", "Node",
    "ParameterTuple", "Plan", "RNN", "Stream", "Symbol",
}  # fmt: skip


def public_classes() -> list[type]:
    found: dict[type, None] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        members = [getattr(module, n) for n in dir(module) if not n.startswith("_")]
        found |= dict.fromkeys(m for m in members if isinstance(m, type))
    plain = [cls for cls in found if not issubclass(cls, (Enum, BaseException))]
    return [cls for cls in plain if cls.__module__.startswith("mycelia.")]


def test_every_public_class_suggests_the_keyword_that_was_meant():
    without = []
    for cls in public_classes():
        found = inspect.signature(cls).parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        names = [p.name for p in found if p.kind in kinds and len(p.name) >= 4]
        if not names or cls.__name__ in WITH_OTHER_CHECKS:
            continue
        required = {p.name: 1 for p in found if p.default is p.empty and p.kind in kinds}
        required.pop(names[-1], None)
        try:
            cls(**required, **{names[-1] + "x": 1})
            without.append(cls.__name__)
        except Exception as error:
            if "did you mean" not in str(error) or most_frames_in_between(error) > 3:
                without.append(cls.__name__)
    assert not without
