"""Optimizers that treat parameters as matrices: Muon, Shampoo, SOAP."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from mycelia.experimental import optim
from tests.experimental import matrix_references as reference

SHAPES = ((4, 6), (5, 5), (6,), (3, 2, 2, 2))
KINDS = [optim.Muon, optim.Shampoo, optim.SOAP]


def _weights(shapes=SHAPES) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def _gradients(steps: int = 7, shapes=SHAPES) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(2)
    return [[rng.standard_normal(s).astype(np.float32) for s in shapes] for _ in range(steps)]


def _parameters(shapes=SHAPES) -> list[Parameter]:
    return [Parameter(Tensor(w), name=f"p{i}") for i, w in enumerate(_weights(shapes))]


def _run(optimizer, gradients) -> list[np.ndarray]:
    for each in gradients:
        assert optimizer(tuple(Tensor(g) for g in each)) is True
    return [p.asnumpy().copy() for p in optimizer.parameters]


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=before)


ADJUSTED = {
    "original": lambda rows, columns: max(1, rows / columns) ** 0.5,
    "match_rms_adamw": lambda rows, columns: 0.2 * max(rows, columns) ** 0.5,
    None: lambda rows, columns: 1.0,
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nesterov": False, "weight_decay": 0.1, "adjust_lr": "match_rms_adamw", "lr": 0.01},
        pytest.param({"ns_steps": 3, "momentum": 0.8, "adjust_lr": None}, marks=pytest.mark.slow),
    ],
)
def test_muon_moves_matrices_by_its_formula_and_vectors_by_that_of_adamw(options, mode):
    shapes = ((4, 6), (6, 4), (6,), (3, 2, 2, 2))
    given = _gradients(5, shapes)
    found = _run(optim.Muon(_parameters(shapes), adamw_lr=0.01, **options), given)
    scale = ADJUSTED[options.get("adjust_lr", "original")]
    plain = {k: v for k, v in options.items() if k != "adjust_lr"}
    for i, (weight, got) in enumerate(zip(_weights(shapes), found, strict=True)):
        steps = [each[i] for each in given]
        if weight.ndim == 1:
            decay = options.get("weight_decay", 0.0)
            wanted = reference.adamw(weight, steps, lr=0.01, weight_decay=decay)
        else:
            wanted = reference.muon(weight, steps, scale=scale, **plain)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(8, 20), (20, 8), (16, 4, 3, 3)])
def test_a_step_of_muon_is_nearly_orthogonal(shape):
    parameter = Parameter(Tensor(np.zeros(shape, np.float32)), name="w")
    gradient = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    optim.Muon([parameter], lr=1.0, adjust_lr=None)((Tensor(gradient),))
    step = -parameter.asnumpy().reshape(shape[0], -1)
    values = np.linalg.svd(step, compute_uv=False)
    assert values.min() > 0.6 and values.max() < 1.3
    left, _, right = np.linalg.svd(gradient.reshape(step.shape), full_matrices=False)
    assert np.sum(step * (left @ right)) > 0.8 * min(step.shape)


def test_muon_leaves_named_parameters_and_groups_to_adamw():
    weights, given = _weights(), _gradients(4)
    parameters = _parameters()
    groups = [
        {"params": parameters[:1]},
        {"params": parameters[1:3], "use_muon": False, "lr": 0.05},
        {"params": parameters[3:], "use_muon": False},
    ]
    found = _run(optim.Muon(groups, adamw_lr=0.004), given)
    rates = [None, 0.05, 0.05, 0.004]
    for i, rate in enumerate(rates):
        steps = [each[i] for each in given]
        if rate is None:
            wanted = reference.muon(weights[i], steps, scale=ADJUSTED["original"])
        else:
            wanted = reference.adamw(weights[i], steps, lr=rate)
        np.testing.assert_allclose(found[i], wanted, rtol=1e-4, atol=1e-5)
    named = optim.Muon(_parameters(), adamw_lr=0.004, adamw_names=["p1"])
    assert [sorted(slots) for slots in named.slots] == [
        ["momentum_buffer"], ["exp_avg", "exp_avg_sq"], ["exp_avg", "exp_avg_sq"],
        ["momentum_buffer"],
    ]  # fmt: skip
    wanted = reference.adamw(weights[1], [each[1] for each in given], lr=0.004)
    np.testing.assert_allclose(_run(named, given)[1], wanted, rtol=1e-4, atol=1e-5)


def test_a_scheduler_changes_both_rates_of_muon():
    weights, given = _weights(), _gradients(1)
    optimizer = optim.Muon(_parameters(), lr=0.02, adamw_lr=0.01)
    optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5)
    found = _run(optimizer, given)
    muon = reference.muon(weights[0], [given[0][0]], lr=0.01, scale=ADJUSTED["original"])
    adamw = reference.adamw(weights[2], [given[0][2]], lr=0.005)
    np.testing.assert_allclose(found[0], muon, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[2], adamw, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"precondition_frequency": 2}, {"every": 2}),
        (
            {"precondition_frequency": 1, "betas": (0.0, 1.0), "grafting": None, "eps": 1e-4},
            {"every": 1, "betas": (0.0, 1.0), "grafting": None, "eps": 1e-4},
        ),
        pytest.param(
            {"precondition_frequency": 3, "grafting": "sgd", "weight_decay": 0.1},
            {"every": 3, "grafting": "sgd", "weight_decay": 0.1},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_shampoo_moves_by_its_formula(options, same, mode):
    given = _gradients()
    found = _run(optim.Shampoo(_parameters(), **options), given)
    for i, (weight, got) in enumerate(zip(_weights(), found, strict=True)):
        axes = () if weight.ndim == 1 else None
        wanted = reference.shampoo(weight, [each[i] for each in given], axes=axes, **same)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        pytest.param({"precondition_frequency": 2}, {"every": 2}, marks=pytest.mark.slow),
        (
            {"precondition_frequency": 3, "shampoo_beta": 0.5, "betas": (0.9, 0.8), "lr": 0.01},
            {"every": 3, "shampoo_beta": 0.5, "betas": (0.9, 0.8), "lr": 0.01},
        ),
    ],
)
def test_soap_moves_by_its_formula(options, same, mode):
    shapes = ((5, 5), (6,), (3, 2, 2, 2))  # factors of full rank have one basis only
    given = _gradients(7, shapes)
    found = _run(optim.SOAP(_parameters(shapes), weight_decay=0.1, **options), given)
    for i, (weight, got) in enumerate(zip(_weights(shapes), found, strict=True)):
        steps, axes = [each[i] for each in given], () if weight.ndim == 1 else None
        wanted = reference.soap(weight, steps, axes=axes, weight_decay=0.1, **same)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_the_first_gradient_of_soap_moves_nothing():
    optimizer = optim.SOAP(_parameters())
    for got, weight in zip(_run(optimizer, _gradients(1)), _weights(), strict=True):
        np.testing.assert_array_equal(got, weight)
    basis = optimizer.slots[0]["basis_1"].asnumpy()
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "largest", "kept"),
    [(optim.Shampoo, "max_preconditioner_dim", "root"), (optim.SOAP, "max_precond_dim", "basis")],
)
def test_long_axes_get_no_factor(kind, largest, kept):
    weights, given = _weights(((5, 5), (5, 9))), _gradients(4, ((5, 5), (5, 9)))
    options = {largest: 5, "precondition_frequency": 2}
    optimizer = kind(_parameters(((5, 5), (5, 9))), **options)
    factors = [name for name in optimizer.slots[1] if name.startswith(("factor", kept))]
    assert sorted(factors) == [f"{kept}_0", "factor_0"][:: 1 if kept < "factor" else -1]
    found = _run(optimizer, given)
    formula = reference.shampoo if kind is optim.Shampoo else reference.soap
    wanted = formula(weights[1], [each[1] for each in given], axes=(0,), every=2)
    np.testing.assert_allclose(found[1], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [optim.Shampoo, optim.SOAP])
def test_vectors_get_a_factor_on_request(kind):
    assert "factor_0" in kind(_parameters(), precondition_1d=True).slots[2]
    assert "factor_0" not in kind(_parameters()).slots[2]


def _steps_until(make, limit: int = 400) -> int:
    """Steps to take a badly scaled quadratic of a matrix down to a thousandth of its start."""
    rng = np.random.default_rng(0)
    scales = np.logspace(-1.5, 0, 6)
    left, right = (np.linalg.qr(rng.standard_normal((6, 6)))[0] * scales for _ in range(2))
    left, right = left.astype(np.float32), right.astype(np.float32)
    weight = Parameter(Tensor(rng.standard_normal((6, 6)).astype(np.float32)), name="w")
    optimizer, first = make([weight]), None
    for step in range(limit):
        residual = left.T @ weight.asnumpy() @ right
        loss = float((residual**2).sum())
        first = loss if first is None else first
        if loss < 1e-3 * first:
            return step
        optimizer((Tensor(2 * left @ residual @ right.T),))
    return limit


def test_shampoo_needs_fewer_steps_than_gradient_descent():
    descent = min(_steps_until(lambda p, r=r: optim.SGD(p, r)) for r in (0.3, 0.45))
    shampoo = _steps_until(
        lambda p: optim.Shampoo(p, 0.5, (0.0, 1.0), precondition_frequency=1, grafting=None)
    )
    assert shampoo < descent / 2


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_parameters_have_states_of_single_precision(kind):
    weights = [Parameter(Tensor(np.ones((4, 3), np.float16)), name="w")]
    optimizer = kind(weights, lr=0.1)
    for _ in range(2):
        optimizer((Tensor(np.eye(4, 3, dtype=np.float16)),))
    assert weights[0].dtype == ms.float16 and float(weights[0].asnumpy().std()) > 0
    assert {slot.dtype for slot in optimizer.slots[0].values()} == {ms.float32}


@pytest.mark.parametrize("kind", KINDS)
def test_going_on_from_a_checkpoint_is_going_on(kind, tmp_path):
    options = {} if kind is optim.Muon else {"precondition_frequency": 2}
    shapes = ((5, 5), (6,))
    given = _gradients(6, shapes)
    whole = _run(kind(_parameters(shapes), **options), given)
    first = kind(_parameters(shapes), **options)
    _run(first, given[:3])
    ms.save_checkpoint(first, str(tmp_path / "half.ckpt"))
    second = kind(_parameters(shapes), **options)
    missing, _ = ms.load_param_into_net(second, ms.load_checkpoint(str(tmp_path / "half.ckpt")))
    assert missing == []
    for got, wanted in zip(_run(second, given[3:]), whole, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_training_a_network_in_one_compiled_step(kind):
    ms.set_seed(3)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((32, 1, 6, 6)).astype(np.float32)
    y = (x.mean((1, 2, 3)) > 0).astype(np.int32)
    network = nn.SequentialCell(
        nn.Conv2d(1, 4, 3, pad_mode="same"), nn.ReLU(), nn.Flatten(), nn.Dense(144, 2)
    )
    rate = 0.1 if kind is optim.Muon else 0.02  # steps of Muon have one length
    optimizer = kind(network.trainable_params(), lr=rate, **_often(kind))
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        losses = [float(step(Tensor(x), Tensor(y))) for _ in range(30)]
        assert ms.jit.explain(step).labels == ("xla",)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert losses[-1] < 0.2 * losses[0]


def _often(kind) -> dict[str, int]:
    return {} if kind is optim.Muon else {"precondition_frequency": 4}


@pytest.mark.parametrize("kind", KINDS)
def test_zero_gradients_move_nothing(kind):
    found = _run(
        kind(_parameters(), weight_decay=0.0, **_often(kind)), [[0 * w for w in _weights()]] * 5
    )
    for got, weight in zip(found, _weights(), strict=True):
        np.testing.assert_array_equal(got, weight)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: optim.Muon(p, lr=-1.0), ValueError, "learning rate"),
        (lambda p: optim.Muon(p, lr=0.0), ValueError, "learning rate"),
        (lambda p: optim.Muon(p, lr="a"), TypeError, "type of 'lr'"),
        (lambda p: optim.Muon(p, momentum=1.0), ValueError, "index 0: 1.0"),
        (lambda p: optim.Muon(p, ns_steps=0), ValueError, "ns_steps"),
        (lambda p: optim.Muon(p, adjust_lr="other"), ValueError, "adjust_lr"),
        (lambda p: optim.Muon(p, adamw_names="head"), TypeError, "adamw_names"),
        (lambda p: optim.Muon([{"params": p, "weight_decay": -1.0}]), ValueError, "weight_decay"),
        (lambda p: optim.Shampoo(p, betas=(1.0, 0.9)), ValueError, "index 0: 1.0"),
        (lambda p: optim.Shampoo(p, betas=(0.9, 1.5)), ValueError, "index 1: 1.5"),
        (lambda p: optim.Shampoo(p, betas=0.9), TypeError, "betas"),
        (lambda p: optim.Shampoo(p, grafting="adam"), ValueError, "grafting"),
        (lambda p: optim.Shampoo(p, precondition_frequency=0), ValueError, "precondition_freq"),
        (lambda p: optim.Shampoo(p, max_preconditioner_dim=2.5), ValueError, "max_precond"),
        (lambda p: optim.SOAP(p, betas=(0.9, 1.0)), ValueError, "index 1: 1.0"),
        (lambda p: optim.SOAP(p, shampoo_beta=1.0), ValueError, "shampoo_beta"),
        (lambda p: optim.SOAP(p, shampoo_beta="a"), TypeError, "shampoo_beta"),
        (lambda p: optim.SOAP(p, eps=-1.0), ValueError, "epsilon"),
        (lambda p: optim.SOAP(p, precondition_frequency=True), ValueError, "precondition_freq"),
    ],
)  # fmt: skip
def test_wrong_settings(make, error, message):
    with pytest.raises(error, match=message):
        make(_parameters())
