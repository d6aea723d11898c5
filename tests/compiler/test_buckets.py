"""One program for many sizes: buckets, rules, masks; always the results of the exact size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.compiler.dynamic_shapes.buckets import bucket_of, sizes_for
from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    DynamicExtent,
    DynamicSizes,
    UnprovablePadding,
)
from mycelia._engine.compiler.dynamic_shapes.padding_plan import all_independent
from mycelia._engine.compiler.dynamic_shapes.reshape_rules import check_reshape
from mycelia._engine.compiler.dynamic_shapes.rules import rule_of
from mycelia._engine.operators.operator import REGISTRY
from tests.compiler.padded_calls import backward, calls, forward, padded_and_real, seeds_of

ROWS = Tensor(shape=[None, 4], dtype=ms.float32)
REAL = 5


def rows(count, seed=0):
    return Tensor(np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32))


def labels_after(fn, sizes, signature=ROWS, make=rows):
    """Run `fn` eagerly and compiled for each size, compare, and give the programs there are."""
    compiled = ms.jit(fn, input_signature=signature)
    for size in sizes:
        x = make(size)
        for found, wanted in zip(_listed(compiled(x)), _listed(fn(x)), strict=True):
            assert_same(found, wanted)
    return ms.jit.explain(compiled).labels


def test_indices_that_padding_leads_to_are_not_out_of_range():
    table = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))

    def looked_up(x):
        return ops.gather(table, ops.cast(x[:, 0], ms.int32) - 9, 0)

    def tens(count):
        return Tensor(np.full((count, 4), 10, np.float32))

    labels = labels_after(looked_up, (3, 5, 6), make=tens)
    assert any("padded" in label for label in labels)
    compiled = ms.jit(looked_up, input_signature=ROWS)
    with pytest.raises(IndexError, match="input_indices = 5 for an axis of size 4"):
        compiled(Tensor(np.full((5, 4), 14, np.float32))).asnumpy()


def assert_same(found, wanted):
    assert type(found) is type(wanted)
    if isinstance(wanted, Tensor):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        scale = float(np.abs(wanted.asnumpy()).max()) if wanted.size else 0.0
        np.testing.assert_allclose(
            found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5 * (1 + scale)
        )
    else:
        assert found == wanted


def _listed(value):
    return value if isinstance(value, tuple) else (value,)


# ---- sizes --------------------------------------------------------------------------------------


def test_buckets_are_powers_of_two_then_multiples_of_64():
    assert [bucket_of(n) for n in (0, 1, 2, 3, 5, 9, 33, 64)] == [0, 1, 2, 4, 8, 16, 64, 64]
    buckets = sorted({bucket_of(n) for n in range(65, 5000)})
    assert all(b % 64 == 0 for b in buckets)
    assert all(small * 1.25 <= large <= small * 2 for small, large in pairwise(buckets))


@given(st.integers(0, 100_000))
def test_a_bucket_holds_its_own_size(size):
    assert bucket_of(size) >= size and bucket_of(bucket_of(size)) == bucket_of(size)


def test_probes_differ_from_all_other_sizes():
    sizes = sizes_for((3, 4, 7))
    assert sizes.padded == (4, 4, 8)
    assert len({*sizes.real, *sizes.padded, *sizes.probe}) == 4 + 3


def test_an_extent_is_a_multiple_of_one_dynamic_size():
    sizes = DynamicSizes((5, 6), (8, 8), (11, 13))
    assert sizes.extent(4, 4, 4) is None
    assert sizes.extent(15, 24, 33) == DynamicExtent(0, 3)
    assert sizes.extent(6, 8, 13) == DynamicExtent(1, 1)
    with pytest.raises(UnprovablePadding):
        sizes.extent(4, 7, 10)  # one less than the size
    with pytest.raises(UnprovablePadding):
        sizes.extent(30, 64, 143)  # the product of both


# ---- reshapes -----------------------------------------------------------------------------------

N, M, TRIPLE = DynamicExtent(0, 1), DynamicExtent(1, 1), DynamicExtent(0, 3)


@pytest.mark.parametrize(
    ("before", "axes", "after", "result"),
    [
        ((8, 3, 4), (N, None, None), (24, 4), (TRIPLE, None)),
        ((24, 4), (TRIPLE, None), (8, 12), (N, None)),
        ((2, 8, 6), (None, N, None), (2, 8, 2, 3), (None, N, None, None)),
        ((2, 8, 6), (None, N, None), (1, 2, 8, 1, 6), (None, None, N, None, None)),
        ((8, 4, 6), (N, M, None), (8, 4, 2, 3), (N, M, None, None)),
    ],
)
def test_reshapes_that_keep_padding_at_the_end(before, axes, after, result):
    check_reshape(before, axes, after, result)


@pytest.mark.parametrize(
    ("before", "axes", "after", "result"),
    [
        ((3, 8), (None, N), (24,), (TRIPLE,)),  # padding between the rows
        ((4, 8), (None, N), (8, 4), (N, None)),
        ((4, 4), (None, N), (4, 4), (N, None)),
        ((8, 8), (N, M), (8, 8), (M, N)),
        ((8, 3), (N, None), (3, 8), (None, N)),
    ],
)
def test_reshapes_that_move_padding_elsewhere(before, axes, after, result):
    with pytest.raises(UnprovablePadding):
        check_reshape(before, axes, after, result)


# ---- every rule against its operator's examples -------------------------------------------------

OTHER_NAMES = ("GatherV2", "SparseGatherV2", "Unpack", "LogSoftmaxExt", "SubscriptAddTo")

# Operators whose examples have nothing apart along the first axis: they pad or take parts of it,
# look up in it, go along it as time, or have another size of the same number there.
EXACT = frozenset(
    (
        "ConstantPad", "Pad", "Reshape", "Subscript", "EmbeddingLookup", "DepthwiseConv2dNative",
        "RNNLayer", "GRULayer", "LSTMLayer",
    )
)  # fmt: skip


def _of_interest():
    """The calls by operator. Elementwise operators are all alike: a few stand for the rest."""
    found = {}
    for call in calls():
        rule = rule_of(REGISTRY[call.name](**call.case.fields))
        chosen = call.name in ("Log", "Pow", "Select", "BiasAdd", "Tril")
        other_name = "3D" in call.name or call.name in OTHER_NAMES
        if chosen or (rule is not all_independent and not other_name):
            found.setdefault(call.name, []).append(call)
    return found


CALLS = _of_interest()


def _is_proved(functions, arguments):
    """Whether a bucket is used; then its results with nan as padding are those without."""
    try:
        found, wanted = padded_and_real(functions, arguments, REAL)
    except UnprovablePadding:
        return False
    for one, other in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        tolerance = 1e-4 if other.dtype.itemsize > 2 else 2e-2
        kind = np.complex128 if other.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            one.astype(kind), other.astype(kind), tolerance, atol=tolerance / 10
        )
    return True


def _check_call(call):
    """Whether a call is proved; its gradients are looked at, too."""
    sizes = sizes_for((REAL,))
    try:
        made = [call.at(size) for size in (REAL, *sizes.padded, *sizes.probe)]
        arguments = [case.arrays() for _, case in made]
        seeds = [seeds_of(op, case) for op, case in made]
    except (TypeError, ValueError, RuntimeError):
        return False  # the example has no such call with other sizes
    if not _is_proved([forward(op) for op, _ in made], arguments):
        return False
    floats = [i for i, a in enumerate(arguments[0]) if _is_float(a)]
    places = [i for i in floats if i not in call.case.constants]
    if places and seeds[0] and call.case.differentiate and made[0][0].differentiable:
        seeded = [(*a, s) for a, s in zip(arguments, seeds, strict=True)]
        _is_proved([backward(op, places) for op, _ in made], seeded)
    return True


def _is_float(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


ALWAYS = ("MatMul", "ReduceMean", "Softmax", "Conv2D", "LayerNorm", "Gather", "CrossEntropy")
NAMES = [
    name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in sorted(CALLS)
]


@pytest.mark.parametrize("name", NAMES)
def test_garbage_in_padding_changes_nothing(name):
    assert any(map(_check_call, CALLS[name])) == (name not in EXACT)


def test_operators_that_draw_random_numbers_have_no_rule():
    assert rule_of(REGISTRY["Dropout"](0.5)) is None


# ---- programs -----------------------------------------------------------------------------------

SHARED = ("xla, padded to 8 for sizes 5, 7, 8, 6",)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x / x.shape[0],  # numbers computed from the size come in from outside
        lambda x: x * x.shape[0] ** 2 + ops.zeros((x.shape[0], 4)),
        lambda x: (x[-1], x[:3], x[0] + x[2:5:2].sum()),
        lambda x: (ops.log(x * x).mean(), x.max(), x.argmax(0), x.sum(0), x.shape[0]),
        lambda x: ops.softmax(x @ x.T, -1) @ x,
        lambda x: ops.arange(x.shape[0]).astype(ms.float32).reshape((-1, 1)) * x,
        lambda x: ops.concat((x, x * 2), 1).reshape(-1, 2).prod(0),
        lambda x: ops.tanh(x.reshape(-1)).reshape(-1, 2, 2).mean((0, 2)),
        lambda x: ops.grad(lambda x: (ops.tanh(x) @ x.T).mean())(x),
        lambda x: x * 2 if x.shape[0] > 6 else x * 3,
        lambda x: ops.std(x, 0),
        lambda x: ops.tril(ops.ones((x.shape[0], x.shape[0]))) @ x,
    ],
)
def test_sizes_share_a_program(fn):
    assert labels_after(fn, (5, 7, 8, 6)) == SHARED


def _rows_added_up(x):
    total = x[0]
    for i in range(1, x.shape[0]):
        total = total + x[i]
    return total


def _prints(x):
    print(x.sum())
    return x


def _branch(x):
    return x * 2 if x.sum() > 0 else x * 3


def _refuses_even_sizes(x):
    if x.shape[0] % 2 == 0:
        raise ValueError("an odd number of rows, please")
    return x * 2


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (lambda x: ops.cumsum(x, 0), "CumSum: its elements meet along a dynamic axis"),
        (lambda x: ops.sort(x, 0)[0], "Sort: its elements meet along a dynamic axis"),
        (lambda x: x[1:], "Subscript: "),
        (lambda x: ops.flip(x, (0,)), "ReverseV2: its elements meet along a dynamic axis"),
        (lambda x: ops.roll(x, 1, 0), "Roll: it is not known what it does with a dynamic axis"),
        (_prints, "effect: it runs Python code"),
        (lambda x: ops.concat((x, x), 0), "Concat: its elements meet along a dynamic axis"),
        (lambda x: x.T.reshape(-1), "Reshape: it joins a dynamic axis to the one before it"),
        (_rows_added_up, "Add: what is computed depends on a size"),
        (_branch, "switch: "),
        (_refuses_even_sizes, "for another size it raises ValueError: an odd number of rows"),
    ],
)
def test_what_cannot_be_proved_is_compiled_for_its_size(fn, why):
    labels = labels_after(fn, (5, 7))
    assert len(labels) == 2
    for label, size in zip(labels, (5, 7), strict=True):
        assert label.startswith(f"xla, of exact size {size}: {why}"), label


def test_the_reason_names_the_line():
    (label,) = labels_after(lambda x: ops.cumsum(x, 0), (5,))
    assert label.endswith(")") and "(test_buckets.py:" in label


def test_sizes_of_one_and_two_are_exact():
    assert labels_after(lambda x: x + 1, (1, 2, 0)) == ("xla", "xla", "xla")


def test_random_numbers_are_those_of_the_exact_size():
    dropout = nn.Dropout(p=0.5)
    dropout.set_train()
    (label,) = labels_after_seed(dropout, 5)
    assert label.startswith("xla, of exact size 5: Dropout")


def labels_after_seed(net, size):
    compiled = ms.jit(net.construct, input_signature=ROWS)
    ms.set_seed(3)
    wanted = net(rows(size))
    ms.set_seed(3)
    assert_same(compiled(rows(size)), wanted)
    return ms.jit.explain(compiled).labels


def test_two_dynamic_sizes():
    signature = (
        Tensor(shape=[None, None], dtype=ms.float32),
        Tensor(shape=[None, None], dtype=ms.float32),
    )

    @ms.jit(input_signature=signature)
    def product(x, y):
        return ops.softmax(ops.matmul(x, y), -1)

    random = np.random.default_rng(0)
    for n, k, m in ((5, 3, 6), (7, 4, 8), (6, 4, 5), (5, 3, 5)):
        x, y = random.normal(size=(n, k)), random.normal(size=(k, m))
        x, y = Tensor(x.astype(np.float32)), Tensor(y.astype(np.float32))
        assert_same(product(x, y), ops.softmax(ops.matmul(x, y), -1))
    assert ms.jit.explain(product).labels == (
        "xla, padded to 8 and 4 and 8 for sizes 5 and 3 and 6, 7 and 4 and 8, 6 and 4 and 5",
        "xla, padded to 8 and 4 for sizes 5 and 3",  # two sizes that are equal are one
    )


def test_inside_an_eager_gradient_the_exact_program_is_differentiated():
    squares = ms.jit(lambda x: ops.log(x * x).mean(), input_signature=ROWS)
    x = rows(5)
    wanted = ms.grad(lambda x: ops.log(x * x).mean())(x)
    assert_same(squares(x), ops.log(x * x).mean())
    assert_same(ms.grad(squares)(x), wanted)


def test_a_changed_constant_makes_a_new_bucket():
    factor = {"value": 2.0}
    scaled = ms.jit(lambda x: x * factor["value"], input_signature=ROWS)
    assert_same(scaled(rows(5)), rows(5) * 2.0)
    factor["value"] = 3.0
    assert_same(scaled(rows(5)), rows(5) * 3.0)
    assert_same(scaled(rows(6)), rows(6) * 3.0)


# ---- random networks ----------------------------------------------------------------------------

_WEIGHT = Tensor(np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32) / 2)
_TABLE = Tensor(np.random.default_rng(2).normal(size=(7, 4)).astype(np.float32))

STEPS = {
    "dense": lambda x: ops.dense(x, _WEIGHT, _WEIGHT[0]),
    "tanh": ops.tanh,
    "log": lambda x: ops.tanh(ops.log(ops.abs(x))),  # -inf in the padding
    "inverse": lambda x: ops.tanh(1 / x),  # inf
    "softmax": lambda x: ops.softmax(x, -1),
    "over rows": lambda x: ops.softmax(x, 0),
    "centre": lambda x: x - x.mean(0),
    "normalize": lambda x: ops.layer_norm(x, (4,), _WEIGHT[0], _WEIGHT[1]),
    "attend": lambda x: ops.softmax(ops.matmul(x, x.T), -1) @ x,
    "gram": lambda x: ops.tanh(x @ (x.T @ x)),
    "fold": lambda x: ops.relu(x.reshape(-1, 2) + _WEIGHT[0, :2]).reshape(-1, 4),
    "largest": lambda x: x - x.max(axis=0) - 0.1,
    "size": lambda x: x / x.shape[0],
    "last": lambda x: x + x[-1],
    "columns": lambda x: ops.concat((x[:, 1:], x[:, :1]), 1),
    "lookup": lambda x: x + ops.gather(_TABLE, x.argmax(1), 0),
}
ENDS = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: (x * x).mean(),
    "mse": lambda x: ops.mse_loss(x, ops.zeros(x.shape)),
    "cross entropy": lambda x: ops.cross_entropy(x, (x * 0).astype(ms.int32)[:, 0]),
    "logsumexp": lambda x: ops.logsumexp(x, (0, 1)),
}


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4), st.sampled_from(sorted(ENDS))
)
def test_random_networks_and_their_gradients(steps, end):
    def loss(x, w):
        x = x * w
        for step in steps:
            x = STEPS[step](x)
        return ENDS[end](x)

    w = Tensor(np.linspace(0.5, 1.5, 4, dtype=np.float32))
    gradients = ms.value_and_grad(loss, (0, 1))
    labels = labels_after(lambda x: _flat(gradients(x, w)), (5, 7))
    assert labels == ("xla, padded to 8 for sizes 5, 7",)


def _flat(found):
    value, gradients = found
    return (value, *gradients)
