"""Operators on Python values: numbers, bools, strings, lists, and dicts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.shape import normalize_axes
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import TensorProtocol, type_of
from mycelia._engine.operators.families import reduced_shape as shape_without
from mycelia.ops.shapes.reshape import cast


class PlainOperator(Primitive):
    """An operator on Python values: a named function and the types that it accepts."""

    def __init__(
        self, name: str, fn: Callable[..., Any], kinds: tuple[type, ...] = (object,)
    ) -> None:
        super().__init__(name)
        self.__dict__.update(fn=fn, kinds=kinds)

    @property
    def attributes(self) -> dict[str, Any]:
        return {"fn": self.__dict__["fn"]}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = self.__dict__["kinds"]
        for position, value in enumerate(args):
            if not isinstance(value, kinds) or (
                isinstance(value, TensorProtocol) and kinds != (object,)
            ):
                names = " or ".join(k.__name__ for k in kinds)
                raise wrong_type(self.name, f"argument {position}", value, names)
        return self.__dict__["fn"](*args, **kwargs)


_NUMBER, _TEXT = (int, float), (str,)

scalar_add = PlainOperator("scalar_add", operator.add, _NUMBER)
scalar_sub = PlainOperator("scalar_sub", operator.sub, _NUMBER)
scalar_mul = PlainOperator("scalar_mul", operator.mul, _NUMBER)
scalar_div = PlainOperator("scalar_div", operator.truediv, _NUMBER)
scalar_floordiv = PlainOperator("scalar_floordiv", operator.floordiv, _NUMBER)
scalar_mod = PlainOperator("scalar_mod", operator.mod, _NUMBER)
scalar_pow = PlainOperator("scalar_pow", operator.pow, _NUMBER)
scalar_min = PlainOperator("scalar_min", min, _NUMBER)
scalar_max = PlainOperator("scalar_max", max, _NUMBER)
scalar_eq = PlainOperator("scalar_eq", operator.eq, _NUMBER)
scalar_ne = PlainOperator("scalar_ne", operator.ne, _NUMBER)
scalar_lt = PlainOperator("scalar_lt", operator.lt, _NUMBER)
scalar_le = PlainOperator("scalar_le", operator.le, _NUMBER)
scalar_gt = PlainOperator("scalar_gt", operator.gt, _NUMBER)
scalar_ge = PlainOperator("scalar_ge", operator.ge, _NUMBER)
scalar_log = PlainOperator("scalar_log", math.log, _NUMBER)
scalar_uadd = PlainOperator("scalar_uadd", operator.pos, _NUMBER)
scalar_usub = PlainOperator("scalar_usub", operator.neg, _NUMBER)
bool_not = PlainOperator("bool_not", operator.not_, (bool,))
bool_and = PlainOperator("bool_and", lambda x, y: x and y, (bool,))
bool_or = PlainOperator("bool_or", lambda x, y: x or y, (bool,))
bool_eq = PlainOperator("bool_eq", operator.eq, (bool,))
string_eq = PlainOperator("string_eq", operator.eq, _TEXT)
string_concat = PlainOperator("string_concat", operator.add, _TEXT)
is_ = PlainOperator("is_", operator.is_)
is_not = PlainOperator("is_not", operator.is_not)
in_dict = PlainOperator("in_dict", lambda key, mapping: key in mapping)
not_in_dict = PlainOperator("not_in_dict", lambda key, mapping: key not in mapping)
make_list = PlainOperator("make_list", lambda *items: list(items))
make_dict = PlainOperator("make_dict", lambda keys, values: dict(zip(keys, values, strict=True)))
make_slice = PlainOperator("make_slice", slice)
list_len = PlainOperator("list_len", len)
list_getitem = PlainOperator("list_getitem", operator.getitem)
list_setitem = PlainOperator(
    "list_setitem", lambda items, position, value: list(_replaced(items, position, value))
)
tuple_setitem = PlainOperator(
    "tuple_setitem", lambda items, position, value: tuple(_replaced(items, position, value))
)
dict_getitem = PlainOperator("dict_getitem", operator.getitem)
dict_setitem = PlainOperator("dict_setitem", lambda mapping, key, value: {**mapping, key: value})
list_equal = PlainOperator("list_equal", operator.eq)
tuple_equal = PlainOperator("tuple_equal", operator.eq)
tail = PlainOperator("tail", lambda items: items[1:])
tuple_div = PlainOperator(
    "tuple_div", lambda x, y: tuple(a // b for a, b in zip(x, y, strict=True))
)
reduced_shape = PlainOperator(
    "reduced_shape",
    lambda shape, axes: shape_without(
        tuple(shape), normalize_axes(axes, len(shape), "reduced_shape"), True
    ),
)


def _replaced(items: Any, position: int, value: Any) -> list[Any]:
    copy = list(items)
    copy[position] = value
    return copy


def typeof(x: Any) -> Any:
    """Type of a value: dtype and shape of a tensor, otherwise the Python type."""
    return type_of(x) if isinstance(x, TensorProtocol) else type(x)


def mixed_precision_cast(dst_dtype: Any, x: Any) -> Any:
    """Casts floating point tensors, alone or in tuples and lists.

    As in MindSpore, a list becomes a tuple, and a dict is returned unchanged.
    """
    if isinstance(x, (tuple, list)):
        return tuple(mixed_precision_cast(dst_dtype, item) for item in x)
    return cast(x, dst_dtype) if isinstance(x, TensorProtocol) and x.dtype.is_float else x


def is_complex(input: Any) -> bool:
    """Whether a tensor has a complex dtype."""
    return _dtype_of("is_complex", input).is_complex


def is_floating_point(input: Any) -> bool:
    """Whether a tensor has a floating point dtype."""
    return _dtype_of("is_floating_point", input).is_float


def _dtype_of(owner: str, input: Any) -> Any:
    if not isinstance(input, TensorProtocol):
        raise wrong_type(owner, "input", input, "Tensor")
    return input.dtype
