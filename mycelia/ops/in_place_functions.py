"""In-place functions, which write their result into the input: zero_, uniform_, put_, ..."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import size
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia.ops.activation.smooth import sigmoid, tanh
from mycelia.ops.elementwise.arithmetic import add, div, mul, neg, sub
from mycelia.ops.elementwise.exponential import log1p
from mycelia.ops.elementwise.lerp import clamp
from mycelia.ops.elementwise.special import erfinv
from mycelia.ops.elementwise.where import where
from mycelia.ops.indexing.scatter import TensorScatterAdd, TensorScatterUpdate
from mycelia.ops.random.distributions import RandomInteger, StandardNormal, UniformReal
from mycelia.ops.random.sampling import bernoulli
from mycelia.ops.shapes.creation import zeros_like
from mycelia.ops.shapes.reshape import broadcast_to, cast, reshape, scalar_to_tensor, stop_gradient

_WHOLE = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}


def zero_(input: Any) -> Any:
    """Fills `input` with zeros, in place."""
    return put_into(input, zeros_like(input))


def tanh_(input: Any) -> Any:
    """Hyperbolic tangent, in place."""
    return put_into(input, tanh(input))


def erfinv_(input: Any) -> Any:
    """Inverse error function, in place."""
    return put_into(input, erfinv(input))


def inplace_sigmoid(input: Any) -> Any:
    """Sigmoid, in place."""
    return put_into(input, sigmoid(input))


def clamp_(input: Any, min: Any = None, max: Any = None) -> Any:
    """Clamps `input` to the range from `min` to `max`, in place."""
    return put_into(input, clamp(input, min, max))


def stop_gradient_(input: Any) -> Any:
    """Stops the gradient of `input`, in place."""
    return put_into(input, stop_gradient(input))


def uniform_(input: Any, from_: Any = 0, to: Any = 1, *, generator: Any = None) -> Any:
    """Fills `input` with uniform random values from `from_` to `to` (excluded), in place."""
    check_generator("uniform_", generator)
    if not isinstance(from_, TensorProtocol) and not isinstance(to, TensorProtocol) and from_ > to:
        raise problem(
            ValueError, "uniform_: 'from_' is larger than 'to'", got=f"from_={from_}, to={to}"
        )
    drawn = UniformReal.of()(input.shape)
    return put_into(input, add(mul(drawn, sub(_number(to), _number(from_))), _number(from_)))


def normal_(input: Any, mean: Any = 0, std: Any = 1, *, generator: Any = None) -> Any:
    """Fills `input` with normally distributed random values, in place."""
    check_generator("normal_", generator)
    drawn = StandardNormal.of()(input.shape)
    return put_into(input, add(mul(drawn, _number(std)), _number(mean)))


def exponential_(input: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Fills `input` with exponentially distributed random values of rate `lambd`, in place."""
    check_generator("exponential_", generator)
    if lambd <= 0:
        raise problem(ValueError, "exponential_: lambd must be positive", got=f"lambd={lambd}")
    drawn = UniformReal.of()(input.shape)
    return put_into(input, div(neg(log1p(neg(drawn))), float(lambd)))


def random_(input: Any, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
    """Fills `input` with random integers from `from_` to `to` (excluded), in place.

    Without `to`, the range extends to the largest integer of the dtype.
    """
    check_generator("random_", generator)
    low = check_int("random_", "from_", from_)
    high = _largest(input.dtype) if to is None else check_int("random_", "to", to)
    return put_into(input, RandomInteger.of(0, 0, low, high)(input.shape))


def bernoulli_(input: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fills `input` with 1 with probability `p` and 0 otherwise, in place."""
    check_generator("bernoulli_", generator)
    return put_into(input, bernoulli(input, p))


def put_(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Replaces, or adds to, elements of the flattened `input` at `index`, in place."""
    if size(index.shape) != size(source.shape):
        raise problem(
            ValueError,
            "put_: index and source must have equally many elements",
            got=f"index of shape {index.shape}, source of shape {source.shape}",
        )
    if source.dtype is not input.dtype:
        raise problem(
            TypeError,
            "put_: input and source differ in dtype",
            got=f"input {input.dtype}, source {source.dtype}",
        )
    places = where(index < 0, add(index, size(input.shape)), index)
    scatter = TensorScatterAdd if accumulate else TensorScatterUpdate
    flat = reshape(input, (-1,))
    result = scatter.of()(flat, reshape(places, (-1, 1)), reshape(source, (-1,)))
    return put_into(input, reshape(result, input.shape))


def put_into(input: Any, value: Any) -> Any:
    """Writes `value` into `input`, which keeps its shape and dtype."""
    input._become(cast(broadcast_to(value, input.shape), input.dtype))
    return input


def _number(value: Any) -> Any:
    return value if isinstance(value, TensorProtocol) else scalar_to_tensor(float(value))


def _largest(dtype: Any) -> int:
    """One more than the largest integer up to which a dtype represents all integers."""
    if dtype.is_float:
        return _WHOLE[str(dtype).lower()]
    if dtype.is_bool:
        return 2
    return 2 ** (dtype.bits - (dtype.kind == "int")) - (dtype.bits == 64)


def check_generator(owner: str, generator: Any) -> None:
    """Rejects generators; random values depend on the global seed only."""
    if generator is not None:
        raise problem(
            TypeError,
            f"{owner}: generators are not supported",
            got=f"generator={generator!r}",
            fix="omit the generator and call set_seed",
        )
