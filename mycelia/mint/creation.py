"""Creation of tensors: constants, ranges, and random values."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_int, is_int, is_number
from mycelia._engine.core.dtype import as_dtype, float32, int64, of_number
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia.tensor.tensor import Tensor


def ones(size: Any, *, dtype: Any = None) -> Any:
    """Create a tensor of ones."""
    return ops.ones(size, dtype)


def zeros(size: Any, *, dtype: Any = None) -> Any:
    """Create a tensor of zeros."""
    return ops.zeros(size, dtype)


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """Create a tensor filled with `fill_value`."""
    shape = (size,) if is_int(size) else size
    return ops.full(shape, fill_value, dtype=dtype or _dtype_of(fill_value))


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, TensorProtocol) else of_number(value)


def empty(*size: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False) -> Any:
    """Create an uninitialized tensor (its elements are 0)."""
    _check_place("empty", device)
    _check_pinned("empty", device, pin_memory)
    return ops.zeros(_sizes("empty", size), dtype)


def empty_like(
    input: Any, *, dtype: Any = None, device: Any = None, pin_memory: bool = False
) -> Any:
    """Create an uninitialized tensor (its elements are 0) with the shape of `input`."""
    _check_place("empty_like", device)
    _check_pinned("empty_like", device, pin_memory)
    return ops.zeros_like(input, dtype=dtype)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Any:
    """`steps` evenly spaced values from `start` to `end`, inclusive."""
    wanted = float32 if dtype is None else as_dtype(dtype)
    inner = wanted if wanted.is_float else float32
    first, last = (
        ops.cast(x, inner) if isinstance(x, TensorProtocol) else Tensor(x, inner)
        for x in (start, end)
    )
    return ops.cast(ops.linspace(first, last, steps), wanted)


def rand(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Random values from the uniform distribution over [0, 1)."""
    _check_source("rand", generator, device)
    return ops.rand(_sizes("rand", size), dtype=dtype)


def rand_like(input: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Uniform random values over [0, 1), with the shape (and dtype) of `input`."""
    _check_place("rand_like", device)
    return ops.rand_like(input, dtype=dtype)


def randn(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Random values from the standard normal distribution."""
    _check_source("randn", generator, device)
    return ops.randn(_sizes("randn", size), dtype=dtype)


def randn_like(input: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Standard normal random values, with the shape of `input`."""
    _check_place("randn_like", device)
    return ops.randn_like(input, dtype=dtype)


def randint(*args: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Random integers from `low` (default 0) to `high`, exclusive.

    Call it as `randint(high, size)` or `randint(low, high, size)`.
    """
    _check_source("randint", generator, device)
    low, high, size = _with_low("randint", args, 2)
    return ops.cast(ops.randint(low, high, tuple(size)), int64 if dtype is None else dtype)


def randint_like(*args: Any, dtype: Any = None, device: Any = None) -> Any:
    """Random integers with the shape of a tensor: `(input, high)` or `(input, low, high)`."""
    _check_place("randint_like", device)
    if not args or not isinstance(args[0], TensorProtocol):
        raise wrong_type("randint_like", "input", args[:1], "a Tensor")
    input, *bounds = args
    low, high = _with_low("randint_like", tuple(bounds), 1)
    return ops.cast(ops.randint(low, high, input.shape), input.dtype if dtype is None else dtype)


def _with_low(owner: str, args: tuple[Any, ...], fewest: int) -> tuple[Any, ...]:
    """The bounds and the arguments after them; the lower bound defaults to 0."""
    if len(args) not in (fewest, fewest + 1):
        raise problem(
            TypeError,
            f"{owner}: wrong number of arguments",
            got=f"{len(args)} bounds and sizes",
            expected=f"{fewest} or {fewest + 1}",
        )
    return (0, *args) if len(args) == fewest else args


def randperm(n: int, *, generator: Any = None, dtype: Any = int64) -> Any:
    """A random permutation of the integers from 0 to n - 1."""
    _check_source("randperm", generator, None)
    return ops.randperm(check_int("randperm", "n", n), dtype=dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Any:
    """Random values from normal distributions; if `mean` and `std` are numbers, pass a `size`."""
    _check_source("normal", generator, None)
    given = [x for x in (mean, std) if isinstance(x, TensorProtocol)]
    for name, value in (("mean", mean), ("std", std)):
        if not isinstance(value, TensorProtocol) and not is_number(value):
            raise wrong_type("normal", name, value, "float or Tensor")
    if not given and size is None:
        raise problem(ValueError, "normal: scalar mean and std need a size", fix="pass size=")
    spread = ops.add(ops.zeros_like(given[0]), ops.zeros_like(given[-1])) if given else None
    shape = tuple(size) if spread is None else spread.shape
    return ops.add(ops.mul(ops.randn(shape), std), mean)


def bernoulli(input: Any, *, generator: Any = None) -> Any:
    """Bernoulli samples: 1 with the probability in `input`, else 0."""
    _check_source("bernoulli", generator, None)
    if not input.dtype.is_float:
        raise wrong_type("bernoulli", "input", input, "a float tensor")
    return ops.cast(ops.less(ops.rand_like(input), input), input.dtype)


def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Any:
    """Sample indices (int64) in proportion to the weights in each row of `input`."""
    _check_source("multinomial", generator, None)
    return ops.cast(ops.multinomial(input, num_samples, replacement), int64)


def _sizes(owner: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape, passed as one tuple or as one int per dimension."""
    listed = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return tuple(check_int(owner, "size", n) for n in listed)


def _check_source(owner: str, generator: Any, device: Any) -> None:
    if generator is not None:
        raise problem(
            TypeError,
            f"{owner}: custom generators are not supported",
            got=f"a generator of type {type(generator).__name__}",
            fix="omit the generator and use mycelia.set_seed",
        )
    _check_place(owner, device)


def _check_place(owner: str, device: Any) -> None:
    if device is not None and (not isinstance(device, str) or device.lower() != "cpu"):
        raise wrong_value(owner, "device", device, "None or 'cpu'")


def _check_pinned(owner: str, device: Any, pin_memory: bool) -> None:
    if pin_memory and device is None:
        raise problem(RuntimeError, f"{owner}: pin_memory=True needs device='cpu'")
