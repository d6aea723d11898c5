"""The Primitive class: operators as named, hashable, callable values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.distributed.layout import checked_strategy, flat_strategies
from mycelia._engine.ir.example import Case
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.ir.tensor_protocol import TensorProtocol


class Primitive(CheckedKeywords):
    """Base class of every operator, the framework's and the users'.

    The rules are methods: `infer` (types to types), `lower` (arrays to arrays), `grad` (plain
    Python with operators). The class attributes:

    - `static`: names of the call arguments that are compile-time values; the others are data.
    - `promotes`: data arguments that are converted to one dtype first, and may be Python numbers.
    - `scalars_follow`: of two tensors, a 0-d one takes the dtype of the other if both are of the
      same kind (integers, floats, ...), as a Python number would.
    - `writes`: arguments that the operator updates; `lower` returns the result and the new values.
    - `draws`: the last argument of `lower` is a random key, which the runtime supplies.
    - `counts_rows`: the result for a row depends on the number of rows.
    - `host`: a NumPy kernel with the same results (except for subnormal numbers, which XLA on CPU
      flushes to zero), for arrays of at most `host_limit` elements.
    - `bounds`: the valid values of arguments that are indices or labels
      (`_engine/operators/index_bounds.py`), for arguments as `infer` or `lower` receives them.
    - `host_only`: the shape of the result depends on values, which XLA cannot express.
    - `takes_missing_gradients`: in `grad`, an unused output's gradient is None instead of zeros.
    - `integer_gradients`: gradients of integers that come from integers are integers.
    - `python_gradient`: `grad` calls a user's function, which may read tensor values.
    - `takes_sequences`: a data argument may be a tuple of tensors.
    - `view`: the operator in NumPy, without a copy, if its result shares elements with the first
      argument: a write to one of the two is visible in the other. `put_back` computes the argument
      that yields a given result, from the arguments, the result, and the result's index if there
      are several; without it, each element is written to the position that `view` shows.
    - `keeps_order`: a view shows a contiguous range of elements, in their order.
    - `view_may_copy`: non-contiguous data may have to be copied first, so it is not a view.
    """

    static: ClassVar[tuple[str, ...]] = ()
    promotes: ClassVar[tuple[str, ...]] = ()
    scalars_follow: ClassVar[bool] = False
    writes: ClassVar[tuple[str, ...]] = ()
    calls_python: ClassVar[bool] = False  # calls a user's Python function while a program runs
    draws: ClassVar[bool] = False
    counts_rows: ClassVar[bool] = False
    differentiable: ClassVar[bool] = True
    examples: ClassVar[tuple[Case, ...]] = ()
    host: ClassVar[Callable[..., Any] | None] = None
    host_limit: ClassVar[int] = 8192
    bounds: ClassVar[Callable[..., tuple[Any, ...]] | None] = None
    host_only: ClassVar[bool] = False
    takes_missing_gradients: ClassVar[bool] = False
    integer_gradients: ClassVar[bool] = True
    python_gradient: ClassVar[bool] = False
    takes_sequences: ClassVar[bool] = True
    view: ClassVar[Callable[..., Any] | None] = None
    put_back: ClassVar[Callable[..., Any] | None] = None
    keeps_order: ClassVar[bool] = False
    view_may_copy: ClassVar[bool] = False
    arguments: ClassVar[Arguments]

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            self.__dict__["given_name"] = name

    @property
    def name(self) -> str:
        return self.__dict__.get("given_name") or type(self).__name__

    @cached_property
    def pair_kernel(self) -> Callable[..., Any] | None:
        """The NumPy kernel of an operator that takes exactly two arrays and nothing else."""
        plain = not (self.host_only or self.static or self.draws or self.writes or self.bounds)
        return self.host if plain and len(self.arguments.names) == 2 else None

    @property
    def attributes(self) -> dict[str, Any]:
        """The fields that the operator was created with, by name."""
        return {}

    @property
    def attrs(self) -> dict[str, Any]:
        """The fields and everything added with `add_prim_attr`."""
        return self.attributes | self.marks

    @cached_property
    def marks(self) -> dict[str, Any]:
        """Attributes attached later (`shard`, `add_prim_attr`); part of the identity."""
        return {}

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """The identity of the operator: its class, its fields, and its marks."""
        pairs = sorted((self.attributes | self.marks).items())
        return (type(self), *((name, tagged(freeze(value))) for name, value in pairs))

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Primitive) and self.key == other.key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return handlers.dispatch(self, args, kwargs)
        except Exception as error:
            shorten(error)
            raise

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"Prim[{self.name}]<{fields}>" if fields else f"Prim[{self.name}]"

    def infer(self, *args: Any) -> Any:
        raise problem(
            RuntimeError,
            f"{self.name} has no infer rule",
            fix="define infer_shape and infer_dtype, or a lower method",
        )

    def lower(self, *args: Any) -> Any:
        raise problem(
            RuntimeError,
            f"{self.name} has no kernel",
            fix="define a lower(self, *arrays) method, or use ops.Custom",
        )

    grad: Callable[..., tuple[Any, ...]]

    def add_prim_attr(self, name: str, value: Any) -> Self:
        self.marks[name] = value
        self._forget_identity()
        return self

    def del_prim_attr(self, name: str) -> Self:
        self.marks.pop(name, None)
        self._forget_identity()
        return self

    def add_attr(self, name: str, value: Any) -> None:
        """Like `add_prim_attr`, but returns None."""
        self.add_prim_attr(name, value)

    def del_attr(self, name: str) -> None:
        """Like `del_prim_attr`, but returns None."""
        self.del_prim_attr(name)

    def get_attr_dict(self) -> dict[str, Any]:
        """The fields and everything added later, as a new dictionary."""
        return dict(self.attrs)

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Name the inputs and the outputs."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def set_user_data(self, key: str, value: Any) -> None:
        """Store a value with the operator; it does not affect how the operator runs."""
        self.__dict__.setdefault("_user_data", {})[key] = value

    def get_user_data(self, key: str) -> Any:
        """The value that `set_user_data` stored, or None."""
        return self.__dict__.get("_user_data", {}).get(key)

    def check_elim(self, *args: Any) -> tuple[bool, Any]:
        """Whether the result is known without running the operator, and the result."""
        return False, None

    def place(self, role: str, rank_id: int) -> None:
        """Choose the process that runs the operator."""
        if role not in ("MS_WORKER", "MS_SERVER", "MS_PSERVER"):
            raise problem(ValueError, "place: unknown role", got=repr(role))
        if not isinstance(rank_id, int) or rank_id < 0:
            raise problem(ValueError, "place: rank_id must be an int >= 0", got=repr(rank_id))
        self.add_prim_attr("ms_role", role)
        self.add_prim_attr("rank_id", rank_id)

    @property
    def update_parameter(self) -> bool:
        """Whether the operator writes to one of its arguments."""
        return bool(self.writes)

    def set_instance_name(self, name: str) -> None:
        """Like `set_prim_instance_name`, but returns None."""
        self.set_prim_instance_name(name)

    def set_prim_instance_name(self, name: str) -> Self:
        return self.add_prim_attr("instance_name", name)

    def set_stage(self, stage: int) -> Self:
        return self.add_prim_attr("stage", stage)

    def set_device(self, device_target: str) -> Self:
        return self.add_prim_attr("primitive_target", device_target)

    def recompute(self, mode: bool = True) -> Self:
        return self.add_prim_attr("recompute", mode)

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Self:
        """Set how inputs (and outputs) are sharded over devices, as in `shard(((2, 1), (1, 4)))`.

        There is a tuple of ints, or a `Layout`, for each input (and output).
        """
        for label, strategy in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
            if strategy is None:
                continue
            if not isinstance(strategy, tuple):
                raise problem(
                    TypeError,
                    f"{label} must be tuple type, but got:{type(strategy)}",
                    expected="one tuple of ints for each input, as ((2, 1), (1, 4))",
                )
            for one_strategy in flat_strategies(strategy):
                checked_strategy(f"{self.name}.shard", label, one_strategy)
            self.add_prim_attr(label, strategy)
        return self

    def _forget_identity(self) -> None:
        for cached in ("key", "_hash"):
            self.__dict__.pop(cached, None)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.arguments = Arguments.of(cls)


@dataclass(frozen=True)
class Arguments:
    """Which arguments of an operator are data and which are static, derived from its `lower`."""

    names: tuple[str, ...]
    data_names: tuple[str, ...]
    static: tuple[int, ...]
    defaults: dict[int, Any]
    variadic: bool

    @classmethod
    def of(cls, op: type[Primitive]) -> Arguments:
        names, defaults, variadic = _parameters(inspect.unwrap(op.lower))
        if op.draws:
            names = names[:-1]
        missing = [n for n in (*op.static, *op.writes) if n not in names and not variadic]
        if missing:
            raise TypeError(f"{op.__name__}.lower has no argument called {missing[0]}")
        static = tuple(i for i, n in enumerate(names) if n in op.static)
        known = {i: defaults[n] for i, n in enumerate(names) if n in defaults}
        data_names = tuple(n for n in names if n not in op.static)
        return cls(names, data_names, static, known, variadic)

    def bind(
        self, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Split a call into its data arguments and its static values."""
        data, static = self.split(self._fill(owner, args, kwargs))
        return data, tuple(freeze(value) for value in static)

    def split(self, full: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Separate a full argument list into data and static values."""
        if not self.static:
            return full, ()
        static = tuple(full[i] for i in self.static)
        return tuple(a for i, a in enumerate(full) if i not in self.static), static

    def merge(self, data: tuple[Any, ...], static: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put data and static values back into the argument order of `lower`."""
        if not static:
            return data
        rest, values = iter(data), iter(static)
        count = len(data) + len(static)
        return tuple(next(values) if i in self.static else next(rest) for i in range(count))

    def _fill(self, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if self.variadic or (not kwargs and len(args) == len(self.names)):
            return args
        if len(args) > len(self.names):
            raise self._wrong_count(owner, f"{len(args)} arguments")
        full = list(args)
        for position in range(len(args), len(self.names)):
            name = self.names[position]
            if name in kwargs:
                full.append(kwargs[name])
            elif position in self.defaults:
                full.append(self.defaults[position])
            else:
                raise self._wrong_count(owner, f"no {name!r}")
        unknown = set(kwargs) - set(self.names[len(args) :])
        if unknown:
            raise self._wrong_count(owner, f"an unexpected argument {sorted(unknown)[0]!r}")
        return tuple(full)

    def _wrong_count(self, owner: str, got: str) -> TypeError:
        return problem(
            TypeError,
            f"{owner}: wrong arguments",
            got=got,
            expected=f"{owner}()({', '.join(self.names)})",
        )


def _parameters(method: Any) -> tuple[tuple[str, ...], dict[str, Any], bool]:
    """The parameters of a method after `self`, their defaults, and whether there is `*args`.

    They are read from the code object: calling `inspect.signature` for hundreds of classes would
    take a significant part of the time of `import mycelia`.
    """
    code = method.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    variadic = bool(code.co_flags & inspect.CO_VARARGS)
    names = code.co_varnames[1:count]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        names += code.co_varnames[count + variadic : count + variadic + 1]
    last = method.__defaults__ or ()
    ends = zip(code.co_varnames[code.co_argcount - len(last) : code.co_argcount], last, strict=True)
    return names, dict(ends) | (method.__kwdefaults__ or {}), variadic


def freeze(value: Any) -> Any:
    """A static value made hashable: lists, arrays, and tensors become tuples."""
    if value is None or isinstance(value, (int, float, str, bool, DType)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(freeze(v) for v in value)
    if isinstance(value, TensorProtocol):
        return freeze(np.asarray(value).tolist())
    if isinstance(value, np.ndarray | np.generic):
        return freeze(value.tolist())
    if isinstance(value, dict):
        return tuple(sorted((k, freeze(v)) for k, v in value.items()))
    return value


def tagged(value: Any) -> Any:
    """A frozen value as a key that distinguishes 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(value, tuple):
        return tuple([tagged(v) for v in value])
    if isinstance(value, float):
        return float, value.hex()
    return type(value), value
