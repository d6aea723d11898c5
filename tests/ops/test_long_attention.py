"""Attention over long sequences goes by blocks of queries, with the same results."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor
from mycelia.ops.attention import attention
from mycelia.ops.attention.attention import Attention


def arrays(length, source, seed=0):
    random = np.random.default_rng(seed)
    shapes = [(2, 3, length, 8), (2, 1, source, 8), (2, 3, source, 4)]
    return [Tensor(random.normal(size=s).astype(np.float32)) for s in shapes]


def extras(kind, length, source):
    random = np.random.default_rng(1)
    mask = Tensor(random.random((length, source)) < 0.3) if "mask" in kind else None
    bias = Tensor(random.normal(size=(1, 3, 1, source)).astype(np.float32))
    keep = Tensor((random.random((2, 1, length, source)) < 0.8).astype(np.float32))
    return mask, bias if "bias" in kind else None, keep if "keep" in kind else None


@pytest.mark.parametrize(
    ("causal", "kind"),
    [
        pytest.param(
            c, k, marks=[pytest.mark.slow] * ((c, k) not in (("left", ""), ("", "mask bias keep")))
        )
        for c in ("", "left", "right")
        for k in ("", "mask", "bias keep", "mask bias keep")
    ],
)
def test_blocks_give_the_same(monkeypatch, causal, kind):
    length, source = 21, 25
    given = (*arrays(length, source), *extras(kind, length, source))
    op = Attention(causal=causal)

    def loss(*args):
        return (op(*args, *given[3:]) ** 2).sum()

    wanted, wanted_grads = op(*given), ms.grad(loss, (0, 1, 2))(*given[:3])
    monkeypatch.setattr(attention, "ROWS", 8)
    monkeypatch.setattr(attention, "MOST_SCORES", 0)
    found, grads = ms.jit(lambda *a: op(*a, *given[3:]))(*given[:3]), None
    grads = ms.jit(ms.grad(loss, (0, 1, 2)))(*given[:3])
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
    for one, other in zip(grads, wanted_grads, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)


def test_all_scores_are_never_in_memory():
    length = 4096
    query, key, value = (Tensor(np.ones((2, length, 16), np.float32)) for _ in range(3))

    def loss(*args):
        return Attention(causal="left")(*args, None, None, None).sum()

    report = ms.runtime.memory_report(ms.grad(loss, (0, 1, 2)), query, key, value)
    assert report.temporary < 2 * length * length * 4 / 2
