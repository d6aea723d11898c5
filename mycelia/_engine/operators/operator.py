"""The base class of Mycelia's operators: a frozen class with fields, examples, and rules."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.core.errors import did_you_mean, problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.primitive import Primitive, tagged
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import jax

REGISTRY: dict[str, type[Op]] = {}
_SHARED: dict[Any, Any] = {}


class _Required:
    """Sentinel for the default of a field that has none."""


def _own_fields(cls: type) -> dict[str, Any]:
    """The fields that a class itself annotates, with their defaults, in order."""
    annotated = inspect.get_annotations(cls)
    return {
        name: cls.__dict__.get(name, _Required)
        for name, text in annotated.items()
        if "ClassVar" not in str(text)
    }


def _is_flag(cls: type[Op], name: str) -> bool:
    """Whether a class or one of its bases annotates a field as bool."""
    if name in inspect.get_annotations(cls):
        return str(inspect.get_annotations(cls)[name]) in ("bool", str(bool))
    return name in cls.flags


class _OperatorSignature:
    """The signature of an operator's constructor or instance, for `help` and editors."""

    def __get__(self, instance: Op | None, cls: type[Op]) -> inspect.Signature:
        if instance is None and cls.__init__ is not Op.__init__:
            init = inspect.signature(cls.__init__)
            arguments = list(init.parameters.values())[1:]
            return init.replace(parameters=arguments, return_annotation=inspect.Signature.empty)
        fields = (
            cls.fields if instance is None else dict.fromkeys(instance.arguments.names, _Required)
        )
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if default is _Required else default,
                )
                for name, default in fields.items()
            ],
            __validate_parameters__=False,
        )


@dataclass_transform(frozen_default=True, eq_default=False)
class Op(Primitive):
    """An operator of the framework. Defining a subclass registers it by its class name.

    Annotated names are static fields; `normalize` may adjust and check them once. `infer` defaults
    to the shapes that XLA infers from `lower`, `grad` to the vector-Jacobian product of `lower`.
    (The standard dataclass would compile three functions for each of the hundreds of classes.)
    """

    __signature__: ClassVar[Any] = _OperatorSignature()
    fields: ClassVar[dict[str, Any]] = {}
    flags: ClassVar[tuple[str, ...]] = ()  # the fields that are annotated as bool
    elementwise: ClassVar[bool] = False  # each element of the result depends on those at its index
    ends_elementwise: ClassVar[bool] = False  # the last step towards the (first) result does
    each_apart: ClassVar[bool] = False  # the elements of its tuples are independent of each other
    last_fields: ClassVar[dict[str, Any]] = {}  # the fields that select the channels-last layout
    rows_of: ClassVar[int | None] = None  # the argument of which it reads only a few rows
    readings: ClassVar[int] = 1  # how often it reads its largest arguments
    convolves: ClassVar[bool] = False  # XLA on CPU runs it slowly inside a branch

    def __init_subclass__(cls, register: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.fields = cls.fields | _own_fields(cls)
        cls.flags = tuple([name for name in cls.fields if _is_flag(cls, name)])
        if register:
            if cls.__name__ in REGISTRY:
                raise TypeError(f"two operators have the name {cls.__name__}")
            REGISTRY[cls.__name__] = cls

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        values = dict(zip(self.fields, args, strict=False))
        unknown = [name for name in kwargs if name not in self.fields or name in values]
        values = self.fields | values | kwargs
        missing = [name for name, value in values.items() if value is _Required]
        if len(args) > len(self.fields) or unknown or missing:
            raise problem(
                TypeError,
                f"{type(self).__name__}: wrong arguments",
                got=f"{len(args)} by position, {', '.join(kwargs) or 'none'} by name",
                expected=", ".join(self.fields) or "no arguments",
                fix=did_you_mean(unknown[0], self.fields) if unknown else "",
            )
        for name in self.flags:
            check_bool(self.name, name, values[name])
        self.__dict__.update(values)
        self.__dict__.update(self.normalize())

    def __setattr__(self, name: str, value: Any) -> None:
        raise problem(
            AttributeError,
            f"{self.name}: operators are immutable",
            got=f"{name} = {value!r}",
            fix=f"create a new one, or attach the value: add_prim_attr({name!r}, ...)",
        )

    def normalize(self) -> dict[str, Any]:
        """Fields to replace after construction; subclasses also check their fields here."""
        return {}

    @classmethod
    def of(cls, *args: Any, **kwargs: Any) -> Self:
        """The shared instance with these (hashable) fields; for functions that are called often."""
        key = (cls, tagged(args), tagged(tuple(kwargs.items()))) if args or kwargs else cls
        shared = _SHARED.get(key)
        if shared is None:
            shared = _SHARED[key] = cls(*args, **kwargs)
        return shared

    def with_fields(self, **changed: Any) -> Self:
        """A new operator of the same class with some fields changed."""
        return type(self)(**(self.attributes | changed))

    @cached_property
    def attributes(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.fields}

    def last(self) -> Op | None:
        """The channels-last variant of the operator, or None if it does not work on images.

        The variant takes and returns all images, and shapes of images, in channels-last order.
        """
        return self.with_fields(**self.last_fields) if self.last_fields else None

    def kept_orders(self, *types: Any) -> dict[int, Shape]:
        """The axis orders in which parameters are best stored between calls, by argument."""
        return {}

    def late(self) -> dict[int, int]:
        """Arguments that it rearranges first, each with the argument that must be ready before."""
        return {}

    def has_small_products(self, *types: Any) -> bool:
        """Whether it multiplies many matrices, each so small that one core computes it alone."""
        return False

    def form(self, *args: Any) -> str:
        """The name of the algorithm for arrays like these, or "" for XLA's default."""
        return ""

    def prefers_last(self, *args: Any) -> bool:
        """Whether converting arrays like these to channels-last is worth its cost."""
        return False

    def infer(self, *args: Any) -> Any:
        return default_infer(self, args)

    def grad(self, *args: Any) -> tuple[Any, ...]:
        return default_grad(self, args)


class Vjp(Op, register=False):
    """The default gradient of an operator: the vector-Jacobian product of its `lower`.

    It is an operator itself, so gradients of any order follow.
    """

    op: Primitive
    static_values: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return f"Vjp({self.op.name})"

    @property
    def convolves(self) -> bool:  # type: ignore[override]  # that of the operator
        return isinstance(self.op, Op) and self.op.convolves

    def bounds(self, *args: Any) -> tuple[Any, ...]:
        """The bounds of the operator, whose own result the program may not need."""
        if self.op.bounds is None:
            return ()
        inputs = self.op.arguments.merge(args[:-1], self.static_values)
        data = [i for i in range(len(inputs)) if i not in self.op.arguments.static]
        return tuple([b.of_data(self.op, data) for b in self.op.bounds(*inputs)])

    def lower(self, *args: Any) -> tuple[Any, ...]:
        *inputs, dout = args
        leaves, structure = jax.tree.flatten(inputs)
        inexact = [i for i, leaf in enumerate(leaves) if _is_inexact(leaf)]

        def on_inexact(*data: Any) -> Any:
            full = list(leaves)
            for position, value in zip(inexact, data, strict=True):
                full[position] = value
            given = tuple(jax.tree.unflatten(structure, full))
            result = self.op.lower(*self.op.arguments.merge(given, self.static_values))
            return result[0] if self.op.writes else result

        try:
            result, pull = jax.vjp(on_inexact, *(leaves[i] for i in inexact))
            gradients = dict(zip(inexact, pull(_cotangent(result, dout)), strict=True))
        except NotImplementedError as missing:
            raise self._unavailable(missing) from None
        every = [gradients.get(i, jax.numpy.zeros_like(a)) for i, a in enumerate(leaves)]
        nested = jax.tree.unflatten(structure, every)
        pairs = zip(inputs, nested, strict=True)
        return tuple([gradient if _has_inexact(value) else None for value, gradient in pairs])

    def _unavailable(self, missing: NotImplementedError) -> NotImplementedError:
        """The error for a function whose derivative of this order XLA does not define."""
        order, op = 1, self.op
        while isinstance(op, Vjp):
            order, op = order + 1, op.op
        return problem(
            NotImplementedError,
            f"{op.name}: a derivative of order {order} is not available",
            got=str(missing).splitlines()[0],
            fix="treat an argument as constant (ops.stop_gradient), or write the gradient: "
            "a cell with `bprop`",
        )


def default_infer(op: Primitive, args: tuple[Any, ...]) -> Any:
    """The result type of an operator without an infer rule: the shapes of its `lower`."""
    specs = jax.tree.map(_spec, args, is_leaf=_is_type)
    positions = [i for i, s in enumerate(specs) if _has_spec(s)]

    def on_data(*data: Any) -> Any:
        full = list(args)
        for position, value in zip(positions, data, strict=True):
            full[position] = value
        return op.lower(*full)

    result = jax.eval_shape(on_data, *(specs[i] for i in positions))
    return jax.tree.map(lambda s: TensorType(from_numpy(s.dtype), tuple(s.shape)), result)


def default_grad(op: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradient of an operator without a grad rule, from inputs, output, and its gradient."""
    *inputs, _, dout = args
    data, static = op.arguments.split(tuple(inputs))
    typed: tuple[Any, ...] = Vjp.of(op, static)(*data, dout)
    return typed


def _spec(value: Any) -> Any:
    if isinstance(value, TensorType):
        return jax.ShapeDtypeStruct(value.shape, value.dtype.numpy)
    return value


def _is_type(value: Any) -> bool:
    return isinstance(value, TensorType)


def _has_spec(value: Any) -> bool:
    return any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(value))


def _is_inexact(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)


def _has_inexact(value: Any) -> bool:
    """Whether a value, or an element of it, has a gradient."""
    return any(map(_is_inexact, jax.tree.leaves(value)))


def _cotangent(result: Any, dout: Any) -> Any:
    """`dout` as jax expects it: float0 where the result has no tangent."""

    def cotangent(out: Any, d: Any) -> Any:
        if jax.numpy.issubdtype(out.dtype, jax.numpy.inexact):
            return d
        return np.zeros(out.shape, dtype=jax.dtypes.float0)

    return jax.tree.map(cotangent, result, dout)


def unsupported_dtype(op: str, type_: TensorType, expected: str) -> TypeError:
    """The error for an operand with an unsupported dtype."""
    return problem(
        TypeError,
        f"{op}: unsupported dtype {type_.dtype}",
        got=str(type_),
        expected=expected,
        fix="cast it first: x.astype(mycelia.float32)",
    )
