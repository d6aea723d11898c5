"""Parameters: named tensors that a network owns and an optimizer updates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.checks import check_int, check_non_negative_int, is_int
from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import refuse_others
from mycelia._engine.core.network_version import note_network_change
from mycelia._engine.distributed.auto_parallel_settings import note_layout_hint
from mycelia._engine.distributed.layout import Strategy, checked_strategy
from mycelia.tensor.initializer import initializer
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import part

_ARGUMENTS = (
    "default_input", "name", "requires_grad", "layerwise_parallel", "parallel_optimizer",
    "storage_format", "device",
)  # fmt: skip

DEFAULT_NAME = "Parameter"


class CheckedAttribute:
    """A parameter attribute that is validated on assignment."""

    def __init__(self, check: Callable[[str, Any], Any]) -> None:
        self._check = check

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, parameter: Any, owner: type) -> Any:
        return self if parameter is None else parameter.__dict__[self._name]

    def __set__(self, parameter: Any, value: Any) -> None:
        note_network_change()
        parameter.__dict__[self._name] = self._check(self._name, value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise problem(
            TypeError,
            f"The argument `{name}` must be bool type",
            got=f"{value!r} of type {type(value).__name__}",
        )
    return value


def _whole(name: str, value: Any) -> int:
    return check_int("Parameter", name, value)


def _count(name: str, value: Any) -> int:
    return check_non_negative_int("Parameter", name, value)


class Parameter(Tensor):
    """A named tensor that belongs to the state of a network."""

    _is_parameter = True
    _unnamed: ClassVar[int] = 0
    _layout: Strategy | None = None
    measures_gradients = False  # whether its gradient is a statistic of gradients
    requires_grad = CheckedAttribute(_flag)
    layerwise_parallel = CheckedAttribute(_flag)
    parallel_optimizer = CheckedAttribute(_flag)
    parallel_optimizer_comm_recompute = CheckedAttribute(_flag)
    cache_enable = CheckedAttribute(_flag)
    comm_fusion = CheckedAttribute(_count)
    key = CheckedAttribute(_whole)

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            refuse_others("Parameter.__init__", unknown, _ARGUMENTS)
        _check_name(name)
        if isinstance(default_input, Tensor):
            self._data = default_input._data
            self._mark, self._shared = None, default_input._shared
            self._relation = None
        else:
            super().__init__(default_input, int32 if is_int(default_input) else None)
        self.has_default_name = name is None
        self._name = name if name is not None else self._next_default_name()
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        self.storage_format = storage_format
        self.parallel_optimizer_comm_recompute = self.cache_enable = self.sliced = False
        self.comm_fusion, self.key = 1, -1
        self.cache_shape: Any = []
        self.inited_param: Any = None

    @classmethod
    def _next_default_name(cls) -> str:
        Parameter._unnamed += 1
        return DEFAULT_NAME if cls._unnamed == 1 else f"{DEFAULT_NAME}#{cls._unnamed}"

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        _check_name(value)
        self._name = value
        self.has_default_name = False

    @property
    def data(self) -> Parameter:
        return self

    @property
    def layout(self) -> Strategy | None:
        """The sharding over devices, as (2, 1) or a Layout; None lets the search choose."""
        return self._layout

    @layout.setter
    def layout(self, value: Strategy | None) -> None:
        if value is not None:
            value = checked_strategy(f"Parameter {self.name}", "layout", value)
        self._layout = value
        note_layout_hint()

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replace the data, including the shape, but keep the dtype."""
        if not isinstance(data, (Tensor, int, float)):
            raise problem(
                TypeError,
                f"Parameter {self.name}: the data cannot be set",
                got=f"a {type(data).__name__}",
                expected="a Tensor or a number",
                fix="p.set_data(Tensor(data))",
            )
        new = data if isinstance(data, Tensor) else Tensor(data)
        array = new._data
        if new.dtype is not self.dtype:
            array = np.asarray(array).astype(self.dtype.numpy)
        if self._relation is not None:
            part(self)
        self._replace(array.copy() if isinstance(array, np.ndarray) else array)
        return self

    def assign_value(self, value: Any) -> Parameter:
        """The same as `set_data`."""
        return self.set_data(value)

    def clone(self, init: Any = "same") -> Parameter:
        """Copy the parameter (name, shape, dtype), with the same or newly initialized data."""
        other = copy.copy(self)
        other._layout = None
        if not (isinstance(init, str) and init == "same"):
            other._replace(initializer(init, self.shape, self.dtype)._data)
        return other

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """Return the parameter, which already has its data; for compatibility with MindSpore."""
        return self

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__


class ParameterTuple(tuple[Any, ...]):
    """A tuple of parameters."""

    def __new__(cls, iterable: Iterable[Parameter]) -> ParameterTuple:
        items = tuple(iterable)
        by_name: dict[str, Parameter] = {}
        for item in items:
            if not isinstance(item, Parameter):
                raise problem(
                    TypeError,
                    "ParameterTuple: all items must be Parameters",
                    got=type(item).__name__,
                )
            if by_name.setdefault(item.name, item) is not item:
                raise problem(
                    ValueError,
                    f"ParameterTuple: two parameters have the name {item.name!r}",
                    fix="give each Parameter another name=",
                )
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Clone all parameters and prefix their names with `prefix` and a dot."""
        clones = []
        for parameter in self:
            other = parameter.clone(init)
            other.name = f"{prefix}.{parameter.name}"
            clones.append(other)
        return ParameterTuple(clones)


def _check_name(name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise problem(
            ValueError,
            f"The type of the Parameter's name should be 'string' or 'None', but got {type(name)}.",
        )
