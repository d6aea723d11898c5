"""`mindspore._checkparam`: argument checks that layers outside of MindSpore use."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from inspect import signature
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np

from mycelia._engine.core import checks
from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem

EQ, NE, LT, LE, GT, GE = range(1, 7)
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = range(7, 11)
IN, NOT_IN = 11, 12

_RELATIONS: dict[int, tuple[str, Callable[[Any, Any], bool]]] = {
    EQ: ("=", operator.eq),
    NE: ("!=", operator.ne),
    LT: ("<", operator.lt),
    LE: ("<=", operator.le),
    GT: (">", operator.gt),
    GE: (">=", operator.ge),
    IN: ("in", lambda value, allowed: value in allowed),
    NOT_IN: ("not in", lambda value, allowed: value not in allowed),
}
_OPEN_LEFT, _OPEN_RIGHT = (INC_NEITHER, INC_RIGHT), (INC_NEITHER, INC_LEFT)
_FILE_NAME = r"^[0-9a-zA-Z@\_\-\.\:\/\\]+$"


def check(
    arg_name: str,
    arg_value: Any,
    value_name: str,
    value: Any,
    rel: int = EQ,
    prim_name: str | None = None,
    excp_cls: type[Exception] = ValueError,
) -> Any:
    """Return `arg_value` if it has the relation `rel` to `value`."""
    sign, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise problem(
            excp_cls,
            f"{_owner(prim_name)}the '{arg_name}' must be {sign} {value_name}: {value}",
            got=repr(arg_value),
        )
    return arg_value


def check_number(arg_name: str, arg_value: Any, value: Any, rel: int, prim_name: str) -> Any:
    """Return `arg_value` if it has the relation `rel` to the number `value`."""
    return check(arg_name, arg_value, "the number", value, rel, prim_name)


def check_is_number(
    arg_value: Any, arg_type: type, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """Return `arg_value` if its type is exactly `arg_type` and it is finite."""
    if not isinstance(arg_value, arg_type) or isinstance(arg_value, bool):
        raise _type_problem(arg_value, arg_type.__name__, arg_name, prim_name)
    if isinstance(arg_value, float) and not np.isfinite(arg_value):
        raise _value_problem(arg_value, "a finite number", arg_name, prim_name)
    return arg_value


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Return `arg_value` if it is an int and not a bool."""
    return check_is_number(arg_value, int, arg_name, prim_name)


def check_is_float(
    arg_value: Any, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """Return `arg_value` if it is a float."""
    return check_is_number(arg_value, float, arg_name, prim_name)


def _compared(kind: type, rel: int, bound: Any = 0) -> Callable[..., Any]:
    def check_against_bound(
        arg_value: Any, arg_name: str | None = None, prim_name: str | None = None
    ) -> Any:
        check_is_number(arg_value, kind, arg_name, prim_name)
        return _check_relation(kind, arg_value, bound, rel, arg_name, prim_name)

    return check_against_bound


def _check_relation(
    kind: type, value: Any, bound: Any, rel: int, arg_name: str | None, prim_name: str | None
) -> Any:
    sign, holds = _RELATIONS[rel]
    if not holds(value, bound):
        raise _value_problem(value, f"{kind.__name__} and must {sign} {bound}", arg_name, prim_name)
    return value


check_positive_int = _compared(int, GT)
check_negative_int = _compared(int, LT)
check_non_positive_int = _compared(int, LE)
check_non_negative_int = _compared(int, GE)
check_positive_float = _compared(float, GT)
check_negative_float = _compared(float, LT)
check_non_positive_float = _compared(float, LE)
check_non_negative_float = _compared(float, GE)


def check_int(
    arg_value: Any,
    value: int,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """Return an int that has the relation `rel` to `value`."""
    return _compared(int, rel, value)(arg_value, arg_name, prim_name)


def check_equal_int(
    arg_value: Any, value: int, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """Return the int if it equals `value`."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_float(
    arg_value: Any,
    value: float,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """Return a float that has the relation `rel` to `value`."""
    return _compared(float, rel, value)(arg_value, arg_name, prim_name)


def check_number_range(
    arg_value: Any,
    lower_limit: Any,
    upper_limit: Any,
    rel: int,
    value_type: type,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """Return a number of `value_type` between two limits; `rel` selects inclusive limits."""
    check_is_number(arg_value, value_type, arg_name, prim_name)
    above = arg_value > lower_limit if rel in _OPEN_LEFT else arg_value >= lower_limit
    below = arg_value < upper_limit if rel in _OPEN_RIGHT else arg_value <= upper_limit
    if not (above and below):
        left, right = "(" if rel in _OPEN_LEFT else "[", ")" if rel in _OPEN_RIGHT else "]"
        wanted = f"in range of {left}{lower_limit}, {upper_limit}{right}"
        raise _value_problem(arg_value, wanted, arg_name, prim_name)
    return arg_value


def check_int_range(
    arg_value: Any,
    lower_limit: int,
    upper_limit: int,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """Return an int between two limits."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(
    arg_value: Any,
    lower_limit: float,
    upper_limit: float,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """Return a float between two limits."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """Return `arg_value` if it is a bool."""
    if not isinstance(arg_value, bool):
        raise _type_problem(arg_value, "bool", arg_name, prim_name)
    return arg_value


def check_string(
    arg_value: Any,
    valid_values: Sequence[str],
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """Return a string if it is one of the valid strings."""
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        wanted = f"str and must be in '{valid_values}'"
        raise _value_problem(arg_value, wanted, arg_name, prim_name)
    return arg_value


def check_value_type(
    arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None
) -> Any:
    """Return `arg_value` if it has one of the types; bools are ints only if bool is listed."""
    kinds = tuple(valid_types) if isinstance(valid_types, (list, tuple)) else (valid_types,)
    is_hidden_bool = isinstance(arg_value, bool) and bool not in kinds and object not in kinds
    if is_hidden_bool or not isinstance(arg_value, kinds):
        wanted = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
        raise _type_problem(arg_value, wanted, arg_name, prim_name)
    return arg_value


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """Return `arg_value` if it is of one of the classes."""
    if not isinstance(arg_value, classes):
        raise _value_problem(arg_value, f"of {classes}", arg_name, None)
    return arg_value


def check_subclass(
    arg_name: str,
    type_: Any,
    template_types: Any,
    prim_name: str | None,
    addition_error_info: str | None = None,
) -> None:
    """Return a dtype or class that is one of `template_types` or a subtype."""
    kinds = template_types if isinstance(template_types, (list, tuple)) else (template_types,)
    if not any(_is_below(type_, kind) for kind in kinds):
        wanted = " or ".join(map(str, kinds))
        raise _type_problem(type_, wanted, arg_name, prim_name, addition_error_info or "")


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None) -> Any:
    """Return a dtype that is among `valid_types`."""
    kinds = valid_types if isinstance(valid_types, Iterable) else (valid_types,)
    if arg_type not in tuple(kinds):
        raise _type_problem(arg_type, " or ".join(map(str, kinds)), arg_name, prim_name)
    return arg_type


def check_tensor_dtype_valid(
    arg_name: str, arg_type: Any, valid_dtypes: Any, prim_name: str | None
) -> Any:
    """Return the dtype of a tensor if it is among `valid_dtypes`."""
    return check_type_name(arg_name, getattr(arg_type, "dtype", arg_type), valid_dtypes, prim_name)


def check_tensors_dtypes_same_and_valid(
    args: dict[str, Any], valid_dtypes: Any, prim_name: str | None
) -> Any:
    """Return the common dtype of tensors if it is among `valid_dtypes`."""
    dtypes = {name: getattr(kind, "dtype", kind) for name, kind in args.items()}
    if len(set(dtypes.values())) > 1:
        raise problem(TypeError, f"{_owner(prim_name)}the dtypes differ", got=str(dtypes))
    for name, kind in dtypes.items():
        check_type_name(name, kind, valid_dtypes, prim_name)
    return next(iter(dtypes.values()), None)


def check_types_same_and_valid(args: dict[str, Any], valid_values: Any, prim_name: str) -> None:
    """Check that types are equal and among `valid_values`."""
    check_tensors_dtypes_same_and_valid(args, valid_values, prim_name)


def check_str_by_regular(
    target: str, reg: str | None = None, flag: int = re.ASCII, prim_name: str | None = None
) -> bool:
    """Raise unless a string matches a pattern."""
    pattern = _FILE_NAME if reg is None else reg
    if re.match(pattern, target, flag) is None:
        raise _value_problem(target, f"a match of {pattern!r}", "string", prim_name)
    return True


def check_file_name_by_regular(
    target: str, reg: str | None = None, prim_name: str | None = None
) -> bool:
    """Raise unless a file name matches a pattern."""
    return check_str_by_regular(target, reg, re.ASCII, prim_name)


def check_str_and_none_by_regular(
    target: str | None, reg: str | None = None, flag: int = re.ASCII, prim_name: str | None = None
) -> bool:
    """Raise unless a string is None or matches a pattern."""
    return True if target is None else check_str_by_regular(target, reg, flag, prim_name)


def check_pad_value_by_mode(pad_mode: str, padding: Any, prim_name: str | None) -> Any:
    """Return the padding, which must be 0 unless the mode is 'pad'."""
    if pad_mode != "pad" and np.any(np.asarray(padding) != 0):
        raise _value_problem(padding, f"zero when pad_mode is '{pad_mode}'", "padding", prim_name)
    return padding


def check_positive_int_sequence(
    sequence: Any, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """Return a list or tuple of positive ints."""
    for value in check_value_type(arg_name or "sequence", sequence, [list, tuple], prim_name):
        check_positive_int(value, arg_name, prim_name)
    return sequence


def check_non_negative_int_sequence(
    sequence: Any, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """Return a list or tuple of non-negative ints."""
    for value in check_value_type(arg_name or "sequence", sequence, [list, tuple], prim_name):
        check_non_negative_int(value, arg_name, prim_name)
    return sequence


def check_element_type_of_iterable(
    arg_name: str, arg_value: Iterable[Any], valid_types: Any, prim_name: str | None = None
) -> Any:
    """Check the types of the elements of an iterable."""
    for place, element in enumerate(arg_value):
        check_value_type(f"{arg_name}[{place}]", element, valid_types, prim_name)
    return arg_value


def check_element_type_of_dict(
    arg_name: str, arg_value: Any, key_types: Any, value_types: Any, prim_name: str | None = None
) -> Any:
    """Check the types of the keys and values of a dict."""
    check_value_type(arg_name, arg_value, [dict], prim_name)
    check_element_type_of_iterable(f"keys of {arg_name}", arg_value.keys(), key_types, prim_name)
    values = arg_value.values()
    check_element_type_of_iterable(f"values of {arg_name}", values, value_types, prim_name)
    return arg_value


def check_astype_dtype(dtype: Any) -> DType:
    """Return a dtype, from its name or type."""
    return as_dtype(dtype)


def check_axis_in_range(axis: int, ndim: int) -> int:
    """Return a non-negative axis of `ndim`."""
    check_number_range(axis, -ndim, ndim, INC_LEFT, int, "axis")
    return axis % ndim


def check_axis_valid(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return distinct non-negative axes of `ndim`; None means all."""
    if axes is None:
        return tuple(range(ndim))
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = tuple(check_axis_in_range(axis, ndim) for axis in listed)
    if len(set(found)) != len(found):
        raise problem(ValueError, "the same axis is named twice", got=f"axis={axes}")
    return found


check_and_canonicalize_axes = check_axis_valid


def infer_out_shape(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that several shapes broadcast to."""
    return tuple(int(size) for size in np.broadcast_shapes(*shapes))


def is_stub_tensor(tensor: Any) -> bool:
    """Whether a tensor is a placeholder for one that is not computed yet; always False here."""
    return False


def _repeated(value: Any, count: int, within: Callable[[Any], Any] = lambda value: value) -> Any:
    if isinstance(value, (tuple, list)):
        if len(value) != count:
            raise problem(TypeError, f"expected {count} values", got=repr(value))
        return tuple(map(within, value))
    if not checks.is_int(value):
        raise problem(TypeError, f"expected an int or {count} of them", got=repr(value))
    return tuple(repeat(value, count))


once, twice, triple = (partial(_repeated, count=count) for count in (1, 2, 3))


def args_type_check(*type_args: Any, **type_kwargs: Any) -> Callable[..., Any]:
    """Decorator that checks the types of arguments; None is allowed where it is the default."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = signature(function)
        wanted = parameters.bind_partial(*type_args, **type_kwargs).arguments

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name, value in parameters.bind(*args, **kwargs).arguments.items():
                if name in wanted and value is not None:
                    check_value_type(name, value, wanted[name], function.__name__)
            return function(*args, **kwargs)

        return checked

    return decorate


def _owner(prim_name: str | None) -> str:
    return f"For '{prim_name}', " if prim_name else "The argument: "


def _type_problem(
    value: Any, wanted: str, arg_name: str | None, prim_name: str | None, fix: str = ""
) -> TypeError:
    return problem(
        TypeError,
        f"{_owner(prim_name)}the type of '{arg_name or 'value'}' must be {wanted}, "
        f"but got '{type(value).__name__}'",
        got=repr(value),
        fix=fix,
    )


def _value_problem(
    value: Any, wanted: str, arg_name: str | None, prim_name: str | None
) -> ValueError:
    return problem(
        ValueError,
        f"{_owner(prim_name)}the '{arg_name or 'value'}' must be {wanted}, but got '{value}' "
        f"with type '{type(value).__name__}'",
    )


def _is_below(kind: Any, above: Any) -> bool:
    if isinstance(kind, type) and isinstance(above, type):
        return issubclass(kind, above)
    return bool(kind == above)


# Names of these functions in MindSpore 1.
Validator = SimpleNamespace(
    **{name: value for name, value in globals().items() if name.startswith("check")}
)
Rel = SimpleNamespace(
    **{name: value for name, value in globals().items() if name.isupper() and name[0] != "_"}
)
