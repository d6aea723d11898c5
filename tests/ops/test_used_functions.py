"""Functions that scripts use often, beside numpy: values, types, and the same in a compiled function."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.core.events import subscribe

X = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
P = np.abs(X) + 0.5
I = np.array([[1, -2, 3], [4, 5, -6]], np.int32)

SAME_AS_NUMPY = {
    "sqrt": (lambda: ops.sqrt(Tensor(P)), np.sqrt(P)),
    "cos": (lambda: ops.cos(Tensor(X)), np.cos(X)),
    "floor": (lambda: ops.floor(Tensor(X)), np.floor(X)),
    "sigmoid": (lambda: ops.sigmoid(Tensor(X)), 1 / (1 + np.exp(-X))),
    "atan2": (lambda: ops.atan2(Tensor(X), Tensor(P)), np.arctan2(X, P)),
    "inv": (lambda: ops.inv(Tensor(P)), 1 / P),
    "mean": (lambda: ops.mean(Tensor(X), 1), X.mean(1)),
    "mean of all": (lambda: ops.mean(Tensor(X)), X.mean()),
    "reduce_mean": (lambda: ops.reduce_mean(Tensor(X), 0), X.mean(0)),
    "transpose": (lambda: ops.transpose(Tensor(X), (1, 0)), X.T),
    "permute": (lambda: ops.permute(Tensor(X), (1, 0)), X.T),
    "expand_dims": (lambda: ops.expand_dims(Tensor(X), 1), X[:, None]),
    "squeeze": (lambda: ops.squeeze(Tensor(X[:, None]), 1), X),
    "flatten": (lambda: ops.flatten(Tensor(X[None])), X.reshape(1, 6)),
    "cat": (lambda: ops.cat((Tensor(X), Tensor(P)), 1), np.concatenate([X, P], 1)),
    "select": (lambda: ops.select(Tensor(X > 0), Tensor(X), Tensor(P)), np.where(X > 0, X, P)),
    "clip_by_value": (
        lambda: ops.clip_by_value(Tensor(X), Tensor(-0.2, ms.float32), Tensor(0.2, ms.float32)),
        X.clip(-0.2, 0.2),
    ),
    "clamp": (lambda: ops.clamp(Tensor(X), -0.2, 0.2), X.clip(-0.2, 0.2)),
    "addn": (lambda: ops.addn([Tensor(X), Tensor(P), Tensor(P)]), X + P + P),
    "dot": (lambda: ops.dot(Tensor(X), Tensor(P.T.copy())), X @ P.T),
    "ger": (lambda: ops.ger(Tensor(X[0]), Tensor(P[1])), np.outer(X[0], P[1])),
    "one_hot": (
        lambda: ops.one_hot(
            Tensor([2, 0], ms.int32), 3, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)
        ),
        np.eye(3)[[2, 0]],
    ),
    "identity": (lambda: ops.identity(Tensor(X)), X),
    "masked": (lambda: ops.MaskedSelect()(Tensor(X), Tensor(X > 0)), X[X > 0]),
}


@pytest.mark.parametrize(("run", "expected"), SAME_AS_NUMPY.values(), ids=SAME_AS_NUMPY)
def test_same_as_numpy(run, expected):
    found = run().asnumpy()
    assert found.shape == np.shape(expected) and found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ms.jit(lambda: run())().asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_shapes_and_sizes():
    x = Tensor(X)
    assert ops.Shape()(x) == ops.shape(x) == (2, 3)
    assert ops.Size()(x) == ops.size(x) == 6
    assert ops.Rank()(x) == ops.rank(x) == 2
    assert ops.DType()(x) is ops.dtype(x) is ms.float32


def test_tuples_and_numbers():
    array = ops.tuple_to_array((1, 2, 3))
    assert array.asnumpy().tolist() == [1, 2, 3] and array.dtype is ms.int32
    assert ops.scalar_to_tensor(2).dtype is ms.float32
    assert ops.scalar_to_tensor(2, ms.int32).asnumpy() == 2
    assert ops.scalar_to_array(2.5).asnumpy() == 2.5
    assert ops.make_range(1, 7, 2) == (1, 3, 5)
    assert ops.tuple_len((4, 5)) == 2 and ops.tuple_getitem((4, 5), 1) == 5
    assert ops.ScalarCast()(2.7, ms.int32) == 2


def test_meshgrid():
    x, y = ops.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5]), indexing="xy")
    expected = np.meshgrid([1, 2], [3, 4, 5])
    assert (x.asnumpy() == expected[0]).all() and (y.asnumpy() == expected[1]).all()


def test_depend_gives_its_first_argument():
    x = Tensor(X)
    assert (ops.depend(x, ops.add(x, x)).asnumpy() == X).all()
    assert (ops.Depend()(x, x * 2).asnumpy() == X).all()
    assert (ms.jit(lambda x: ops.depend(x, x * 2))(x).asnumpy() == X).all()


def test_partial_fixes_arguments():
    add = ops.partial(ops.add, Tensor(X))
    assert (add(Tensor(P)).asnumpy() == X + P).all()
    fn = ops.Partial()(lambda a, b, c: a - b * c, 10, 2)
    assert fn(3) == 4


def test_clip_by_global_norm():
    clipped = ops.clip_by_global_norm((Tensor(X), Tensor(P)), 1.0)
    norm = np.sqrt((X**2).sum() + (P**2).sum())
    assert norm > 1
    np.testing.assert_allclose(clipped[0].asnumpy(), X / norm, rtol=1e-5)
    np.testing.assert_allclose(clipped[1].asnumpy(), P / norm, rtol=1e-5)


def test_random_numbers():
    ms.set_seed(1)
    drawn = ops.normal((2000,), Tensor(3.0), Tensor(0.5)).asnumpy()
    assert abs(drawn.mean() - 3) < 0.05 and abs(drawn.std() - 0.5) < 0.05
    whole = ops.randint(2, 5, (500,)).asnumpy()
    assert set(whole.tolist()) == {2, 3, 4}


def test_add_flags():
    def fn(x):
        return x

    assert ops.add_flags(fn, some_flag=True) is fn and {"some_flag": True} in vars(fn).values()


def test_hook_backward():
    seen = []

    def hook(gradient):
        seen.append(gradient[0].asnumpy())
        return (gradient[0] * 2,)

    def square(x):
        return ops.HookBackward(hook)(x * x).sum()

    gradient = ms.grad(square)(Tensor([1.0, 3.0]))
    assert gradient.asnumpy().tolist() == [4, 12] and seen[0].tolist() == [1, 1]


def test_print(capfd):
    ops.print_("value", Tensor([1, 2]))
    ops.Print()("other", Tensor(3))
    said = capfd.readouterr().out
    assert "value" in said and "[1, 2]" in said and "other" in said


@pytest.mark.parametrize(
    ("operator", "kind", "value"),
    [
        (ops.TensorSummary(), "tensor", X),
        (ops.ScalarSummary(), "scalar", X[0, 0]),
        (ops.HistogramSummary(), "histogram", X),
        (ops.ImageSummary(), "image", np.ones((1, 3, 4, 4), np.float32)),
    ],
)
def test_summaries_publish(operator, kind, value):
    heard = []
    stop = subscribe(kind, lambda **event: heard.append(event))
    try:
        operator("what", Tensor(value))
    finally:
        stop()
    assert heard[0]["name"] == "what" and (heard[0]["value"].asnumpy() == value).all()


def test_settings_and_dtypes():
    assert ms.dtype_to_nptype(ms.int16) is np.int16 and ms.dtype_to_pytype(ms.float64) is float
    assert ms.pytype_to_dtype(int) is ms.int64
    assert ms.is_tensor(Tensor(1)) and not ms.is_tensor(1)
    ms.set_deterministic(True)
    assert ms.get_context("deterministic") == "ON"
    ms.set_device("CPU")
    assert ms.get_current_device()[0] == "CPU"
    assert (ms.STRICT, ms.COMPATIBLE, ms.LAX) == (0, 1, 2)


def test_constexpr_and_jit_class():
    @ms.constexpr
    def double(n):
        assert isinstance(n, int)
        return 2 * n

    @ms.jit_class
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def apply(self, x):
            return x * self.factor

    scale = Scale(3)
    assert ms.ms_class is ms.jit_class

    @ms.jit
    def run(x):
        return scale.apply(x) * double(x.shape[0])

    assert run(Tensor([1.0, 2.0])).asnumpy().tolist() == [12, 24]


def test_mutable_values_do_not_compile_again():
    @ms.jit
    def run(x, n):
        return x * n

    x = Tensor([1.0])
    for number in (2, 3, 4):
        assert run(x, ms.mutable(number)).asnumpy().tolist() == [number]
    assert ms.jit.explain(run).compilations == ("first call",)


@pytest.mark.parametrize("size", [1, 3])
def test_rmse_loss(size):
    difference = X[:, :size] - P[:, :size]
    found = nn.RMSELoss()(Tensor(X[:, :size]), Tensor(P[:, :size])).asnumpy()
    np.testing.assert_allclose(found, np.sqrt((difference**2).mean()), rtol=1e-6)


def test_parameters_take_part():
    weight = Parameter(Tensor(X), name="weight")
    assert (ops.transpose(weight, (1, 0)).asnumpy() == X.T).all()
