"""Thirty programs with control flow, as a user writes them, with what they are expected to give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Tensor, ops

# ---- loops --------------------------------------------------------------------------------------


def newton_square_root(x):
    y = x
    while abs(y * y - x) > 1e-13:
        y = (y + x / y) / 2
    return y


def loop_in_a_loop(x):
    total, term = x * 0, x
    while term > 0.1:
        inner = term
        while inner > 0.5:
            inner = inner * 0.6
            total = total + inner * x
        term = term * 0.5
    return total + term


def three_ways_out(x):
    total, step = x * 0, x
    while step < 100:
        step = step * 1.5
        if step < 4:
            continue
        total = total + step * x
        if total > 200:
            break
        if step > 40:
            return total * 2
    return total + x


def counted_loop(x, n):
    for i in range(n):
        x = x + x * x / (i + 3)
    return x


def doubling(x):
    while x < 10:
        x *= 2
    return x * x


def long_loop(x):
    y, i = x, 0
    while i < 10_000 and (y < 1e6).all():
        y = y + 1e-3 * y * (x - y * y)
        i += 1
    return y.sum()


def list_built_and_folded(x):
    parts = []
    while x < 10:
        parts.append(x * x)
        x = x * 1.5
    total = 0.0
    for part in reversed(parts):
        total = total * 0.5 + part
    return total


# ---- recursion ----------------------------------------------------------------------------------


def factorial(n):
    if n < 2:
        return n
    return n * factorial(n - 1)


def power(x, n):
    if n == 1:
        return x
    half = power(x, n // 2)
    square = half * half
    return square * x if n % 2 == 1 else square


def even(n, x):
    return x if n == 0 else odd(n - 1, x * x / 2)


def odd(n, x):
    return -x if n == 0 else even(n - 1, 1 / (1 + x))


def mutual_recursion(x, n):
    return even(n, x)


def nested_recursion(x):
    if x > 100:
        return x - 10 + (x - 100) ** 2 * 0.01
    return nested_recursion(nested_recursion(x + 11))


def tree_recursion(x, n):
    if n < 2:
        return x * x + n
    return tree_recursion(x * 0.9, n - 1) + x * tree_recursion(x, n - 2)


def recursive_closure(x, n):
    def climb(n, y):
        return y if n == 0 else climb(n - 1, y * x + 1)

    return climb(n, x * x)


def fixpoint(step):
    return lambda n, x: step(fixpoint(step), n, x)


def through_a_combinator(x, n):
    def run(combinator, n, x):
        return combinator(lambda again, n, x: x if n == 0 else x * again(n - 1, x + 1))(n, x)

    return run(fixpoint, n, x)


def tree_lstm(weights, leaves, left, right):
    """A binary Tree-LSTM (Tai et al. 2015); node 0 is the root, a child of -1 marks a leaf."""

    def encode(node):
        if left[node] < 0:
            return ops.tanh(leaves[node]), leaves[node]
        left_hidden, left_cell = encode(left[node])
        right_hidden, right_cell = encode(right[node])
        gates = ops.matmul(weights, ops.concat((left_hidden, right_hidden))).reshape(5, -1)
        keep_left, keep_right, enter, leave = ops.sigmoid(gates[:4])
        cell = keep_left * left_cell + keep_right * right_cell + enter * ops.tanh(gates[4])
        return leave * ops.tanh(cell), cell

    hidden, _ = encode(Tensor(0, ms.int32))
    return (hidden * hidden).sum()


def tree_lstm_in_numpy(weights, leaves, left, right):
    def encode(node):
        if left[node] < 0:
            return np.tanh(leaves[node]), leaves[node]
        (lh, lc), (rh, rc) = encode(left[node]), encode(right[node])
        gates = (weights @ np.concatenate((lh, rh))).reshape(5, -1)
        fl, fr, i, o = 1 / (1 + np.exp(-gates[:4]))
        cell = fl * lc + fr * rc + i * np.tanh(gates[4])
        return o * np.tanh(cell), cell

    return (encode(0)[0] ** 2).sum()


# ---- functions as values ------------------------------------------------------------------------


def make_polynomial(x):
    square = x * x

    def polynomial(y):
        return square * y * y + x

    return polynomial


def closure_called_later(x):
    return ms.jit(make_polynomial)(x)(x + 1)


def closure_picked_by_index(x, i):
    slope = x * x
    steps = (lambda y: y + slope, lambda y: y * slope, lambda y: y / slope)
    return steps[i](x)


def composed(functions):
    def run(x):
        for f in functions:
            x = f(x)
        return x

    return run


def higher_order_function(x):
    twice = composed((lambda y: y * y, lambda y: 1 / (1 + y), newton_square_root))
    return composed((twice, twice))(x)


def function_chosen_at_run_time(x):
    act = (lambda y: y**3 * x) if x > 1 else newton_square_root
    return act(x) + act(x + 4)


def in_continuation_passing_style(x):
    def map_into(f, items, give):
        if not items:
            return give(())
        return f(items[0], lambda y: map_into(f, items[1:], lambda ys: give((y, *ys))))

    def fold_into(f, start, items, give):
        if not items:
            return give(start)
        return f(start, items[0], lambda y: fold_into(f, y, items[1:], give))

    def square_if_large(y, give):
        return give(y * y) if y > 2 else give(y)

    return map_into(
        square_if_large,
        (x, x + 1, x * 2),
        lambda ys: fold_into(lambda a, b, give: give(a * b + a), x, ys, lambda y: y),
    )


# ---- gradients inside programs --------------------------------------------------------------------


def branch(x):
    if x > 1:
        return x**3 + 1 / x
    return x**4


def polynomial(x):
    return 3 * x**5 - 2 * x**4 + x**2


def fourth_derivative(x):
    return ms.grad(ms.grad(ms.grad(ms.grad(polynomial))))(x)


def nested_gradients(x):
    return x * ms.grad(lambda y: x + y)(x)


def descent_inside(x):
    """The inner loop of meta-learning: x shapes the loss that y descends."""

    def loss(y):
        return (y - x) ** 2 + y**4 / 4

    y = x * 0 + 1
    while abs(ms.grad(loss)(y)) > 0.01:
        y = y - 0.2 * ms.grad(loss)(y)
    return y * x


def descent_by_hand(x):
    y = 1.0
    while abs(2 * (y - x) + y**3) > 0.01:
        y = y - 0.2 * (2 * (y - x) + y**3)
    return y * x


# ---- numerical methods --------------------------------------------------------------------------


def adaptive_runge_kutta(x):
    """Heun's method against Euler's for y' = x - y * y, the step chosen by their difference."""
    y, t, step = x * 0, x * 0, x * 0 + 0.1
    while t < 2.0:
        step = min(step, 2.0 - t)
        slope = x - y * y
        euler = y + step * slope
        heun = y + step * (slope + x - euler * euler) / 2
        error = abs(heun - euler) + 1e-9
        if error < 0.01:
            y, t = heun, t + step
        step = step * min(2.0, max(0.3, 0.9 * (0.01 / error) ** 0.5))
    return y


def sinkhorn(cost):
    kernel = ops.exp(-cost)
    rows = ops.ones_like(kernel[:, 0]) / kernel.shape[0]
    scale, error = rows, rows.sum()
    while error > 1e-12:
        other = rows / ops.matmul(kernel.T, scale)
        new = rows / ops.matmul(kernel, other)
        error = ops.abs(new - scale).sum()
        scale = new
    plan = scale.reshape(-1, 1) * kernel * other
    return (plan * cost).sum()


def sinkhorn_in_numpy(cost):
    kernel, n = np.exp(-cost), len(cost)
    scale = np.ones(n) / n
    for _ in range(500):
        other = (1 / n) / (kernel.T @ scale)
        scale = (1 / n) / (kernel @ other)
    return (scale[:, None] * kernel * other * cost).sum()


def line_search(x):
    """One step of descent on a quartic with Armijo's backtracking; x shapes the quartic."""

    def loss(y):
        return (y * y - x) ** 2

    start = x + 1
    slope = 4 * start * (start * start - x)
    rate = 1.0
    while loss(start - rate * slope) > loss(start) - 0.3 * rate * slope * slope:
        rate = rate / 2
    return loss(start - rate * slope) * x


def conjugate_gradients(matrix, b):
    definite = ops.matmul(matrix, matrix.T) + ops.eye(3, 3, ms.float64)
    x, residual = b * 0, b
    direction = residual
    norm = (residual * residual).sum()
    while norm > 1e-24:
        image = ops.matmul(definite, direction)
        rate = norm / (direction * image).sum()
        x = x + rate * direction
        residual = residual - rate * image
        new_norm = (residual * residual).sum()
        direction = residual + new_norm / norm * direction
        norm = new_norm
    return (x * x).sum()


def conjugate_gradients_in_numpy(matrix, b):
    return (np.linalg.solve(matrix @ matrix.T + np.eye(3), b) ** 2).sum()


END = 3


def reinforce(weights):
    """Greedy decoding until the end token; the reward is one over the number of steps."""
    token, length, log_probability = Tensor(0, ms.int32), 0, weights.sum() * 0
    while token != END and length < 10:
        scores = weights[token]
        token = scores.argmax()
        log_probability = log_probability + ops.log_softmax(scores, -1)[token]
        length += 1
    return -log_probability / length


def reinforce_in_numpy(weights):
    token, length, log_probability = 0, 0, 0.0
    while token != END and length < 10:
        scores = weights[token]
        token = int(scores.argmax())
        log_probability += scores[token] - np.log(np.exp(scores).sum())
        length += 1
    return -log_probability / length


def positive_part(x):
    return x[x > 0].sum() ** 2


# ---- the table ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Program:
    """A program with points to run it at; the first argument is differentiated.

    `expected` is the same in plain Python; by default the program itself, given plain numbers.
    """

    number: int
    run: Callable[..., Any]
    points: tuple[tuple[Any, ...], ...]
    expected: Callable[..., Any] | None = None
    label: str = "xla"
    eager_gradient: bool = True  # False where recording every operator takes minutes

    @property
    def name(self) -> str:
        return f"{self.number}_{self.run.__name__}"


def _matrix(*shape: int) -> Any:
    return np.random.default_rng(7).normal(size=shape)


TREE = (np.array([1, 3, -1, -1, -1], np.int32), np.array([2, 4, -1, -1, -1], np.int32))
OTHER_TREE = (np.array([2, -1, 4, -1, -1], np.int32), np.array([1, -1, 3, -1, -1], np.int32))
DECODING = np.array([[0.1, 1.0, 0.2, 0.3], [0.5, 0.1, 0.9, 0.2], [0.0, 0.3, 0.1, 0.8]])

PROGRAMS = (
    Program(1, newton_square_root, ((2.0,), (9.0,))),
    Program(2, loop_in_a_loop, ((3.7,), (0.3,), (0.05,))),
    Program(3, three_ways_out, ((1.0,), (3.0,), (150.0,))),
    Program(4, counted_loop, ((0.5, 4), (0.5, 0), (0.3, 9))),
    Program(5, doubling, ((0.7,), (12.0,))),
    Program(6, factorial, ((5.5,), (1.2,))),
    Program(7, power, ((1.3, 10), (1.3, 1), (0.9, 13))),
    Program(8, mutual_recursion, ((1.3, 5), (1.3, 0), (0.4, 6))),
    Program(9, nested_recursion, ((95.0,), (104.0,))),
    Program(10, tree_recursion, ((1.1, 6), (1.1, 0))),
    Program(
        11,
        tree_lstm,
        ((_matrix(10, 4), _matrix(5, 2), *TREE), (_matrix(10, 4), _matrix(5, 2), *OTHER_TREE)),
        tree_lstm_in_numpy,
    ),
    Program(12, list_built_and_folded, ((0.7,),), label="vm"),
    Program(13, closure_called_later, ((1.5,),), lambda x: make_polynomial(x)(x + 1)),
    Program(14, closure_picked_by_index, ((1.5, 0), (1.5, 1), (1.5, 2), (1.5, -1))),
    Program(15, higher_order_function, ((1.5,),)),
    Program(16, function_chosen_at_run_time, ((1.5,), (0.5,))),
    Program(17, recursive_closure, ((1.1, 5), (1.1, 0))),
    Program(18, through_a_combinator, ((1.1, 4), (1.1, 0))),
    Program(19, branch, ((1.5,), (0.5,))),
    Program(20, fourth_derivative, ((1.5,),), lambda x: 360 * x - 48),
    Program(21, nested_gradients, ((1.5,),), lambda x: x),
    Program(22, descent_inside, ((1.5,), (0.4,)), descent_by_hand),
    Program(23, adaptive_runge_kutta, ((1.5,), (0.3,))),
    Program(24, sinkhorn, ((_matrix(3, 3) ** 2,),), sinkhorn_in_numpy),
    Program(25, line_search, ((1.5,), (0.2,))),
    Program(
        26,
        conjugate_gradients,
        ((_matrix(3, 3), np.array([1.0, -2.0, 0.5])),),
        conjugate_gradients_in_numpy,
    ),
    Program(27, reinforce, ((DECODING,),), reinforce_in_numpy),
    Program(28, in_continuation_passing_style, ((1.5,), (0.4,))),
    Program(29, positive_part, ((np.array([1.0, -2.0, 0.5, 3.0]),),), label="vm"),
    Program(30, long_loop, ((np.array([0.3, 1.5]),),), eager_gradient=False),
)
