"""Dynamic shapes: the declared signature of a function and the programs of its size buckets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.trace_function import TracedProgram
from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.core.lru_dict import LRUDict
from mycelia._engine.runtime.executor import Executable, as_array
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.unsized_array import ANY_RANK, UNKNOWN
from mycelia.transforms.argument_signature import MutableFloat, MutableInt

if TYPE_CHECKING:
    from mycelia._engine.compiler.dynamic_shapes import buckets, dynamic_axes
else:  # what arguments without dynamic sizes do without
    buckets = LazyModule("mycelia._engine.compiler.dynamic_shapes.buckets")
    dynamic_axes = LazyModule("mycelia._engine.compiler.dynamic_shapes.dynamic_axes")


class DynamicSignature:
    """The declared arguments of a function (`set_inputs`), by position or by name.

    Tensors describe tensors. A size of -1 (None when the tensor was created) is dynamic; so are
    all sizes of a tensor created without a shape, and numbers created by `mutable`. Other values
    must match exactly.
    """

    def __init__(
        self, fn: Callable[..., Any], inputs: Sequence[Any], by_name: Mapping[str, Any]
    ) -> None:
        if inputs and by_name:
            raise problem(
                ValueError,
                "For Cell, set_inputs should only set inputs or kwargs",
                got=f"{len(inputs)} positional inputs and the keywords {', '.join(by_name)}",
            )
        parameters = list(inspect.signature(fn).parameters.values())
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self.names = [p.name for p in parameters if p.kind not in variable]
        self.inputs = tuple(inputs)
        self.by_name = dict(by_name)
        unknown = [name for name in by_name if name not in self.names]
        if unknown:
            raise problem(
                ValueError,
                f"For dict mode, valid key is {self.names}, but got {unknown[0]}!",
            )
        if not by_name:
            _check_count(getattr(fn, "__name__", ""), parameters, len(self.inputs))

    @property
    def described(self) -> Any:
        """The declared arguments, as `get_inputs` returns them."""
        if not self.by_name:
            return self.inputs
        places = [[self.names.index(name), value] for name, value in self.by_name.items()]
        return {"arg_specified_infos": places, "total_arg_length": len(self.names)}

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise an error unless the arguments match the declared ones."""
        if not self.by_name and len(args) + len(kwargs) != len(self.inputs):
            raise problem(
                ValueError,
                "For set_inputs, the length of input must be equal to expected one",
                got=f"{len(args) + len(kwargs)} arguments",
                expected=f"{len(self.inputs)} arguments",
            )
        for expected, value, place in self._pairs(args, kwargs):
            _check(expected, value, place)

    def sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """The dynamic sizes of arguments, in order."""
        pairs = self._pairs(args, kwargs)
        return [size for expected, value, _ in pairs for size in _sizes(expected, value)]

    def resized(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], new: Mapping[int, int]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A copy of the arguments with other dynamic sizes."""
        found = [_resized(expected, value, new) for expected, value, _ in self._pairs(args, kwargs)]
        rest = dict(zip(kwargs, found[len(args) :], strict=True))
        return tuple(found[: len(args)]), rest

    def _pairs(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[tuple[Any, Any, int]]:
        """For each argument, positional ones first: its declaration and its index."""
        for place, value in enumerate(args):
            yield self._expected(place), value, place
        for name, value in kwargs.items():
            place = self.names.index(name) if name in self.names else len(self.names)
            yield self._expected(place), value, place

    def _expected(self, place: int) -> Any:
        if self.by_name:
            name = self.names[place] if place < len(self.names) else ""
            return self.by_name.get(name, _ANYTHING)
        return self.inputs[place] if place < len(self.inputs) else _ANYTHING


class _UnspecifiedArgument:
    """Marks an argument that was not declared."""


_ANYTHING = _UnspecifiedArgument()


def _check_count(name: str, parameters: list[inspect.Parameter], given: int) -> None:
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in plain if p.default is p.empty]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(needed) <= given and (any_number or given <= len(plain)):
        return
    raise problem(
        TypeError,
        f"For 'set_inputs', the function {name} requires {len(needed)} positional argument and "
        f"{len(plain) - len(needed)} default argument, but got {given}.",
        fix=f"describe every argument of {name}",
    )


def _check(expected: Any, value: Any, place: int) -> None:
    which = f"For set_inputs, the {place + 1}th input"
    if expected is _ANYTHING:
        return
    if isinstance(expected, Tensor):
        _check_tensor(expected, value, which)
    elif isinstance(value, Tensor):
        raise problem(
            TypeError, f"{which} should be static one, but got mutable!", got=_show(value)
        )
    elif isinstance(expected, (tuple, list)):
        if not isinstance(value, type(expected)) or len(value) != len(expected):
            raise problem(ValueError, f"{which} has the wrong structure", got=_show(value))
        for inner, part in zip(expected, value, strict=True):
            _check(inner, part, place)
    elif isinstance(expected, (MutableInt, MutableFloat)):
        if not isinstance(value, type(expected).__base__ or object) or isinstance(value, bool):
            raise problem(
                TypeError,
                f"{which} has another type",
                got=_show(value),
                expected=str(type(expected).__base__),
            )
    elif type(expected) is not type(value) or expected != value:
        raise problem(
            ValueError, f"{which} has the wrong value", got=repr(value), expected=repr(expected)
        )


def _check_tensor(expected: Tensor, value: Any, which: str) -> None:
    if not isinstance(value, Tensor):
        raise problem(
            TypeError, f"{which} should be mutable one, but got static!", got=_show(value)
        )
    if value.dtype is not expected.dtype:
        raise problem(
            TypeError,
            f"{which} has another type",
            got=f"Tensor[{value.dtype}]",
            expected=f"Tensor[{expected.dtype}]",
        )
    if expected.shape == ANY_RANK:
        return
    if value.ndim != expected.ndim:
        raise problem(
            ValueError,
            f"{which}: the dims must be the same as expected",
            got=f"{value.ndim} dimensions",
            expected=f"{expected.ndim} dimensions",
        )
    for size, wanted in zip(value.shape, expected.shape, strict=True):
        if wanted not in (UNKNOWN, size):
            raise problem(
                ValueError,
                f"{which}: the shape must be the same as expected",
                got=f"shape {list(value.shape)}",
                expected=f"shape {list(expected.shape)}, with any size for -1",
            )


def _show(value: Any) -> str:
    return f"{value!r} of type {type(value).__name__}" if not isinstance(value, Tensor) else (
        f"a tensor of shape {list(value.shape)}"
    )  # fmt: skip


def _sizes(expected: Any, value: Any) -> list[int]:
    if isinstance(expected, Tensor) and isinstance(value, Tensor):
        if expected.shape == ANY_RANK:
            return []
        pairs = zip(expected.shape, value.shape, strict=True)
        return [size for wanted, size in pairs if wanted == UNKNOWN]
    if isinstance(expected, (tuple, list)):
        pairs = zip(expected, value, strict=True)
        return [size for inner, part in pairs for size in _sizes(inner, part)]
    return []


def _resized(expected: Any, value: Any, new: Mapping[int, int]) -> Any:
    if isinstance(expected, Tensor) and isinstance(value, Tensor):
        if expected.shape == ANY_RANK:
            return value
        pairs = zip(expected.shape, value.shape, strict=True)
        shape = [new.get(n, n) if wanted == UNKNOWN else n for wanted, n in pairs]
        return Tensor._wrap(np.broadcast_to(np.zeros((), value._data.dtype), shape))
    if isinstance(expected, (tuple, list)):
        return type(value)(_resized(*pair, new) for pair in zip(expected, value, strict=True))
    return value


@dataclass(eq=False)
class BucketProgram:
    """The compiled program of a bucket, and the sizes that have run with it."""

    bucket: buckets.Bucket
    executable: Executable
    used: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """A description of the sizes that the program serves."""
        used = ", ".join(_listed(sizes) for sizes in self.used)
        return f"xla, padded to {_listed(self.bucket.sizes.padded)} for sizes {used}"

    def holds(self) -> bool:
        """Whether the constants that the program relies on are unchanged."""
        bucket = self.bucket
        return bucket.padded.guards.hold() and bucket.probe.guards.hold()


@dataclass(frozen=True, eq=False)
class BucketRejection:
    """Why a bucket has no program, as far as one trace showed."""

    why: str
    reading: TracedProgram

    def holds(self) -> bool:
        """Whether the constants that the trace relied on are unchanged."""
        return self.reading.guards.hold()


def _listed(sizes: tuple[int, ...]) -> str:
    return " and ".join(map(str, sizes))


@dataclass(frozen=True, eq=False)
class BucketMatch:
    """One size of arguments, served by the program of its bucket."""

    shared: BucketProgram
    fit: buckets.PaddedCall
    is_first: bool  # the program was compiled for this size

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The results for arguments of this size."""
        shapes = self.fit.bucket.shapes
        padded = [
            buckets.pad_with_zeros(np.asarray(as_array(leaf)), shapes[i])
            if i in shapes and leaf.shape != shapes[i]
            else leaf
            for i, leaf in enumerate(leaves)
        ]
        return self.fit.cut(self.shared.executable([*padded, *self.fit.extra]))


ReadAt = Callable[[tuple[Any, ...], dict[str, Any]], TracedProgram]
KeyOf = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class Buckets:
    """The programs of a function for a signature: one per bucket, or the reason for none."""

    def __init__(self, signature: DynamicSignature) -> None:
        self.signature = signature
        self._found = LRUDict()

    def fitted(
        self, real: TracedProgram, args: Any, kwargs: Any, read_at: ReadAt, key_of: KeyOf
    ) -> BucketMatch | str:
        """How to run arguments of this size, or why they need a separate program."""
        dynamic = self.signature.sizes(args, kwargs)
        symbols = tuple(dict.fromkeys(n for n in dynamic if not buckets.is_only_size_in_bucket(n)))
        if not symbols:
            return ""
        sizes = buckets.sizes_for(symbols)
        padded = self.signature.resized(args, kwargs, dict(zip(symbols, sizes.padded, strict=True)))
        places = tuple(symbols.index(n) if n in symbols else None for n in dynamic)
        key = (key_of(*padded), places)
        shared: BucketProgram | BucketRejection | None = self._found.use(key)
        if shared is None or not shared.holds():
            probe = self.signature.resized(
                args, kwargs, dict(zip(symbols, sizes.probe, strict=True))
            )
            shared = self._make(real, sizes, padded, probe, read_at)
            self._found.keep(key, shared)
        found = (
            shared.why if isinstance(shared, BucketRejection) else self._fit(shared, sizes, real)
        )
        return f"{_listed(symbols)}: {found}" if isinstance(found, str) else found

    def _make(
        self,
        real: TracedProgram,
        sizes: dynamic_axes.DynamicSizes,
        padded: Any,
        probe: Any,
        read_at: ReadAt,
    ) -> BucketProgram | BucketRejection:
        try:
            larger, other = read_at(*padded), read_at(*probe)
        except GraphBreak as needed:
            return BucketRejection(needed.why, real)
        except Exception as error:  # user code may reject a size that no call has used
            why = f"for another size it raises {type(error).__name__}: {_first_line(error)}"
            return BucketRejection(why, real)
        try:
            bucket = buckets.make_bucket(sizes, real, larger, other)
        except dynamic_axes.UnprovablePadding as error:
            return BucketRejection(error.why, real)
        return BucketProgram(bucket, Executable(bucket.program))

    def _fit(
        self, shared: BucketProgram, sizes: dynamic_axes.DynamicSizes, real: TracedProgram
    ) -> BucketMatch | str:
        # The probe sizes of the bucket distinguish its axes.
        known = dynamic_axes.DynamicSizes(sizes.real, sizes.padded, shared.bucket.sizes.probe)
        try:
            found = buckets.make_padded_call(shared.bucket, known, real)
        except dynamic_axes.UnprovablePadding as error:
            return error.why
        is_first = not shared.used
        shared.used += [sizes.real] if sizes.real not in shared.used else []
        return BucketMatch(shared, found, is_first)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
