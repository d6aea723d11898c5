"""Higher derivatives of compiled networks, against jax."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops


def weights(sizes, seed):
    rng = np.random.default_rng(seed)
    pairs = pairwise(sizes)
    return [(rng.normal(size=(n, m)) / np.sqrt(n), rng.normal(size=m) * 0.1) for n, m in pairs]


class Network(nn.Cell):
    """A small network with tanh between its layers."""

    def __init__(self, values):
        super().__init__()
        self.layers = nn.CellList(
            [
                nn.Dense(w.shape[0], w.shape[1], weight_init=Tensor(w.T), bias_init=Tensor(b))
                for w, b in values
            ]
        )

    def construct(self, x):
        for layer in self.layers[:-1]:
            x = ops.tanh(layer(x))
        return self.layers[len(self.layers) - 1](x)


def jax_network(values, x):
    for w, b in values[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = values[-1]
    return x @ w + b


def test_a_hessian_vector_product():
    values = weights((5, 16, 16, 1), 0)
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    net = Network(values)

    def product(x, v):
        return ms.grad(lambda x: (ms.grad(lambda x: (net(x) ** 2).sum())(x) * v).sum())(x)

    compiled = ms.jit(product)
    found = compiled(Tensor(x), Tensor(v)).asnumpy()
    gradient = jax.grad(lambda x: (jax_network(values, x) ** 2).sum())
    wanted = jax.jvp(gradient, (jnp.asarray(x),), (jnp.asarray(v),))[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-10)
    assert ms.jit.explain(compiled).labels == ("xla",)


def test_a_hessian_vector_product_for_the_weights():
    values = weights((3, 8, 1), 2)
    x = np.random.default_rng(3).normal(size=(6, 3))
    net = Network(values)
    parameters = net.trainable_params()

    def product(x):
        def slope():
            grads = ms.grad(lambda x: (net(x) ** 2).sum(), None, parameters)(x)
            return sum((g * g).sum() for g in grads)

        return ms.grad(slope, None, parameters)()

    found = [g.asnumpy() for g in ms.jit(product)(Tensor(x))]

    def loss(values):
        return (jax_network(values, x) ** 2).sum()

    def slope(values):
        return sum((g * g).sum() for g in jax.tree.leaves(jax.grad(loss)(values)))

    wanted = jax.tree.leaves(jax.grad(slope)([(jnp.asarray(w), jnp.asarray(b)) for w, b in values]))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, np.asarray(other).T, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("compile_it", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_physics_informed_loss_with_third_derivatives(compile_it):
    """u_t + u u_x + u_xxx = 0 (Korteweg and de Vries), and the gradient of the loss for weights."""
    values = weights((2, 12, 12, 1), 4)
    rng = np.random.default_rng(5)
    points, times = rng.normal(size=(7, 1)), rng.normal(size=(7, 1))
    net = Network(values)
    parameters = net.trainable_params()

    def u(x, t):
        return net(ops.concat((x, t), 1))

    def along_x(f):
        return lambda x, t: ms.grad(lambda x: f(x, t).sum())(x)

    def loss(x, t):
        first = along_x(u)
        third = along_x(along_x(first))
        change = ms.grad(lambda t: u(x, t).sum())(t)
        return ((change + u(x, t) * first(x, t) + third(x, t)) ** 2).mean()

    both = ms.value_and_grad(loss, None, parameters)
    run = ms.jit(both) if compile_it else both
    value, grads = run(Tensor(points), Tensor(times))

    def jax_loss(values):
        def u(x, t):
            return jax_network(values, jnp.stack([x, t]))[0]

        def residual(x, t):
            ux, ut = jax.grad(u, 0), jax.grad(u, 1)
            uxxx = jax.grad(jax.grad(ux, 0), 0)
            return ut(x, t) + u(x, t) * ux(x, t) + uxxx(x, t)

        return (jax.vmap(residual)(points[:, 0], times[:, 0]) ** 2).mean()

    given = [(jnp.asarray(w), jnp.asarray(b)) for w, b in values]
    wanted, jax_grads = jax.value_and_grad(jax_loss)(given)
    np.testing.assert_allclose(value.asnumpy(), wanted, rtol=1e-5)
    for one, other in zip(grads, jax.tree.leaves(jax_grads), strict=True):
        np.testing.assert_allclose(one.asnumpy(), np.asarray(other).T, rtol=1e-5, atol=1e-10)
