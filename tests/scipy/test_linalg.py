"""Linear algebra as SciPy's, with gradients, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as reference

import mycelia as ms
import mycelia.scipy.linalg as linalg
from mycelia import Tensor

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((4, 4))
S = A @ A.T + 4 * np.eye(4)
B, COLUMNS = RANDOM.standard_normal(4), RANDOM.standard_normal((4, 2))
TALL = RANDOM.standard_normal((4, 3))


def _close(found: Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-9, atol=1e-9)


def test_products_of_one_matrix():
    _close(linalg.inv(Tensor(A)), reference.inv(A))
    _close(linalg.det(Tensor(A)), reference.det(A))
    _close(linalg.expm(Tensor(A)), reference.expm(A))


def test_integers_are_float64():
    found = linalg.inv(Tensor([[4, 1], [1, 3]]))
    assert found.dtype == ms.float64
    _close(found, reference.inv([[4, 1], [1, 3]]))


def test_block_diag():
    blocks = [np.ones((2, 2), np.float32), np.array([3.0, 4.0], np.float32), np.float32(5)]
    found = linalg.block_diag(*[Tensor(b) for b in blocks])
    assert found.asnumpy().tolist() == reference.block_diag(*blocks).tolist()
    assert linalg.block_diag().shape == (1, 0)
    with pytest.raises(ValueError, match="more than 2 axes"):
        linalg.block_diag(Tensor(np.ones((2, 2, 2))))


@pytest.mark.parametrize("lower", [False, True])
def test_cholesky(lower: bool):
    _close(linalg.cholesky(Tensor(S), lower=lower), reference.cholesky(S, lower=lower))
    factor = linalg.cho_factor(Tensor(S), lower=lower)
    assert factor[1] is lower
    _close(linalg.cho_solve(factor, Tensor(B)), np.linalg.solve(S, B))
    _close(linalg.cho_solve(factor, Tensor(COLUMNS)), np.linalg.solve(S, COLUMNS))


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
def test_solve_triangular(trans, lower: bool):
    for unit in (False, True):
        found = linalg.solve_triangular(Tensor(A), Tensor(B), trans, lower, unit)
        _close(found, reference.solve_triangular(A, B, trans, lower, unit))


def test_complex_triangles():
    matrix = A + 1j * A.T
    found = linalg.solve_triangular(Tensor(matrix), Tensor(B + 0j), "C")
    _close(found, reference.solve_triangular(matrix, B + 0j, "C"))


def test_solve():
    _close(linalg.solve(Tensor(A), Tensor(B)), np.linalg.solve(A, B))
    _close(linalg.solve(Tensor(A), Tensor(COLUMNS)), np.linalg.solve(A, COLUMNS))
    _close(linalg.solve(Tensor(A), Tensor(B), transposed=True), np.linalg.solve(A.T, B))
    _close(linalg.solve(Tensor(S), Tensor(B), assume_a="pos"), np.linalg.solve(S, B))


def test_lu():
    factors, pivots = linalg.lu_factor(Tensor(A))
    expected, places = reference.lu_factor(A)
    _close(factors, expected)
    assert pivots.asnumpy().tolist() == places.tolist()
    assert pivots.dtype == ms.int32
    for trans in (0, 1, 2):
        found = linalg.lu_solve((factors, pivots), Tensor(B), trans)
        _close(found, reference.lu_solve((expected, places), B, trans))
    for matrix in (A, TALL, TALL.T):
        parts = linalg.lu(Tensor(matrix))
        assert parts[0].dtype == ms.int32
        for found, part in zip(parts, reference.lu(matrix)):
            _close(found, part)
        for found, part in zip(
            linalg.lu(Tensor(matrix), permute_l=True), reference.lu(matrix, permute_l=True)
        ):
            _close(found, part)


@pytest.mark.parametrize("lower", [False, True])
def test_eigh_reads_one_triangle(lower: bool):
    values, vectors = linalg.eigh(Tensor(A), lower=lower)
    expected = reference.eigh(A, lower=lower)
    _close(values, expected[0])
    np.testing.assert_allclose(np.abs(vectors.asnumpy()), np.abs(expected[1]), atol=1e-9)
    _close(linalg.eigh(Tensor(A), lower=lower, eigvals_only=True), expected[0])
    _close(linalg.eigvalsh(Tensor(A), lower=lower), expected[0])


def test_hermitian_matrices():
    matrix = S + 1j * (A - A.T)
    values, _ = linalg.eigh(Tensor(matrix))
    assert values.dtype == ms.complex128
    _close(values, reference.eigvalsh(matrix))


def test_qr():
    for mode, inner in (("full", 4), ("economic", 3)):
        q, r = linalg.qr(Tensor(TALL), mode=mode)
        assert (q.shape, r.shape) == ((4, inner), (inner, 3))
        np.testing.assert_allclose(q.asnumpy() @ r.asnumpy(), TALL, atol=1e-9)
    (alone,) = linalg.qr(Tensor(TALL), mode="r")
    _close(alone, linalg.qr(Tensor(TALL))[1].asnumpy())


def test_svd():
    left, values, right = linalg.svd(Tensor(TALL), full_matrices=False)
    np.testing.assert_allclose(
        (left.asnumpy() * values.asnumpy()) @ right.asnumpy(), TALL, atol=1e-9
    )
    _close(linalg.svd(Tensor(TALL), compute_uv=False), reference.svdvals(TALL))
    assert [p.shape for p in linalg.svd(Tensor(TALL))] == [(4, 4), (3,), (3, 3)]


@pytest.mark.parametrize("driver", ["gelss", "gelsd"])
def test_lstsq(driver: str):
    found = linalg.lstsq(Tensor(TALL), Tensor(COLUMNS), driver=driver)
    expected = reference.lstsq(TALL, COLUMNS, lapack_driver=driver)
    for one, other in zip(found, expected):
        _close(one, other)
    vector = linalg.lstsq(Tensor(TALL), Tensor(B), driver=driver)
    _close(vector[0], reference.lstsq(TALL, B)[0])
    assert vector[1].shape == (1,)


def test_what_the_drivers_of_lstsq_leave_out():
    by_default = linalg.lstsq(Tensor(TALL), Tensor(B))
    assert [p.shape for p in by_default] == [(3,), (0,), (), (0,)]
    assert int(by_default[2]) == 3
    assert [p.shape for p in linalg.lstsq(Tensor(TALL), Tensor(B), driver="gels")] == [
        (3,),
        (1,),
        (0,),
        (0,),
    ]
    singular = linalg.lstsq(Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([1.0, 2.0]), driver="gelss")
    np.testing.assert_allclose(singular[0].asnumpy(), [0.75, 0.75], rtol=1e-5)
    assert int(singular[2]) == 1
    wide = linalg.lstsq(Tensor(TALL.T), Tensor(B[:3]))
    _close(wide[0], reference.lstsq(TALL.T, B[:3])[0])
    many = linalg.lstsq(Tensor(np.stack([TALL, 2 * TALL])), Tensor(np.stack([B, B])))
    _close(many[0], np.stack([reference.lstsq(TALL, B)[0], reference.lstsq(TALL, B)[0] / 2]))


def _slope(f, matrix: np.ndarray) -> float:
    """The numeric derivative along a fixed direction."""
    step, direction = 1e-6, np.cos(np.arange(16.0)).reshape(4, 4)
    up, down = (float(f(Tensor(matrix + s * direction))) for s in (step, -step))
    return (up - down) / (2 * step)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: linalg.inv(a).sum(),
        lambda a: linalg.cholesky(a @ a.T).sum(),
        lambda a: linalg.solve_triangular(a, Tensor(B), lower=True).sum(),
        lambda a: linalg.eigh(a)[0][0],
        lambda a: linalg.lu_factor(a)[0].sum(),
        lambda a: linalg.solve(a, Tensor(B)).sum(),
        pytest.param(lambda a: linalg.expm(a).sum(), marks=pytest.mark.slow),
        lambda a: linalg.lstsq(a, Tensor(B))[0].sum(),
    ],
)
def test_gradients(f):
    found = ms.grad(f)(Tensor(S)).asnumpy()
    expected = _slope(f, S)
    direction = np.cos(np.arange(16.0)).reshape(4, 4)
    np.testing.assert_allclose((found * direction).sum(), expected, rtol=1e-4, atol=1e-6)


def test_in_graph_mode():
    @ms.jit
    def several(a, b):
        values, _ = linalg.eigh(a)
        return linalg.inv(a), linalg.cho_solve(linalg.cho_factor(a), b), values, linalg.lu(a)[2]

    inverse, solution, values, upper = several(Tensor(S), Tensor(B))
    _close(inverse, reference.inv(S))
    _close(solution, np.linalg.solve(S, B))
    _close(values, reference.eigvalsh(S))
    _close(upper, reference.lu(S)[2])


BAD = [
    (lambda: linalg.cholesky(S), TypeError, "must be Tensor"),
    (lambda: linalg.cholesky(Tensor(TALL)), ValueError, "must be square"),
    (lambda: linalg.cholesky(Tensor(np.stack([S, S]))), ValueError, "'a' must be a matrix"),
    (lambda: linalg.inv(Tensor(S.astype(np.float16))), TypeError, "'a' has an unsupported dtype"),
    (lambda: linalg.lu_factor(Tensor(TALL)), ValueError, "must be square"),
    (lambda: linalg.eigh(Tensor(S), Tensor(S)), ValueError, "of 'b' is not supported"),
    (lambda: linalg.solve_triangular(Tensor(S), Tensor(B), trans="X"), ValueError, "trans"),
    (
        lambda: linalg.solve_triangular(Tensor(S), Tensor(B[:3])),
        ValueError,
        "of a and b do not match",
    ),
    (
        lambda: linalg.solve_triangular(Tensor(S), Tensor(B.astype(np.float32))),
        TypeError,
        "have different dtypes",
    ),
    (lambda: linalg.lstsq(Tensor(S), Tensor(B), driver="x"), ValueError, "driver"),
    (lambda: linalg.lstsq(Tensor([[1, 2], [3, 4]]), Tensor([1, 2])), TypeError, "floats"),
    (lambda: linalg.lstsq(Tensor(S), Tensor(B[:3])), ValueError, "do not match"),
    (lambda: linalg.solve(Tensor(S), Tensor(B), assume_a="x"), ValueError, "assume_a"),
    (lambda: linalg.qr(Tensor(S), mode="x"), ValueError, "mode"),
    (lambda: linalg.lu_solve(linalg.lu_factor(Tensor(S)), Tensor(B), 5), ValueError, "trans"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
