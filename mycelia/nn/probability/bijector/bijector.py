"""The base class of bijectors: invertible transforms with log-Jacobians."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, broadcast
from mycelia._engine.ir.handlers import call_user_function
from mycelia.nn.cell import Cell
from mycelia.nn.probability.parameters import check_tensor, parameter_dtype, parameter_tensor
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.tensor import Tensor


class Bijector(Cell):
    """The base class. A subclass defines `_forward`, `_inverse` and their log jacobians.

    Calling a bijector with a distribution gives the distribution of the mapped numbers.
    """

    def __init__(
        self,
        is_constant_jacobian: bool = False,
        is_injective: bool = True,
        name: str | None = None,
        dtype: DType | None = None,
        param: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise wrong_type(type(self).__name__, "name", name, "str")
        self._is_constant_jacobian = check_bool(name, "is_constant_jacobian", is_constant_jacobian)
        self._is_injective = check_bool(name, "is_injective", is_injective)
        self._name = name
        self._dtype = dtype
        self._described = dict(param or {})
        self._batch_shape: Shape = ()
        self.common_dtype: DType | None = None
        self.default_parameters: list[Any] = []
        self.parameter_names: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType | None:
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the bijector."""
        return self._described

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is constant."""
        return self._is_constant_jacobian

    @property
    def is_injective(self) -> bool:
        return self._is_injective

    @property
    def batch_shape(self) -> Shape:
        """The common shape of the parameters."""
        return self._batch_shape

    @property
    def is_scalar_batch(self) -> bool:
        return self._batch_shape == ()

    def shape_mapping(self, shape: Any) -> Shape:
        """The shape of the result for an input of `shape`."""
        return broadcast(tuple(shape), self._batch_shape, op=self.name)

    def cast_param_by_value(self, value: Any, para: Any) -> Any:
        """A parameter cast to the dtype of the value."""
        return para if para.dtype is value.dtype else cast(para, value.dtype)

    def forward(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The forward transform y = f(x)."""
        return self._run("_forward", value, args, kwargs)

    def inverse(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse transform: x with f(x) = y."""
        return self._run("_inverse", value, args, kwargs)

    def forward_log_jacobian(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log-Jacobian log |f'(x)|."""
        return self._run("_forward_log_jacobian", value, args, kwargs)

    def inverse_log_jacobian(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The log-Jacobian of the inverse at y."""
        return self._run("_inverse_log_jacobian", value, args, kwargs)

    def direction(self) -> Any:
        """The sign of f'; None for increasing transforms."""
        return None

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method by name."""
        return getattr(self, name)(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Cell):
            return args[0].transformed_by(self, *args[1:], **kwargs)
        return super().__call__(*args, **kwargs)

    def _run(self, hook: str, value: Any, args: Any, kwargs: Any) -> Any:
        found = getattr(self, hook, None)
        if found is None:
            raise problem(
                NotImplementedError,
                f"{self.name}: has no {hook[1:]}",
                fix=f"define {hook}(self, value) in {type(self).__name__}",
            )
        return call_user_function(
            found, self._check_value(value, "input value of bijector"), *args, **kwargs
        )

    def _check_value(self, value: Any, name: str) -> Any:
        """Check that a value is a floating-point tensor."""
        if not check_tensor(value, name).dtype.is_float:
            raise problem(
                TypeError,
                f"{name}: the value must be a floating-point tensor",
                got=str(value.dtype),
                fix="cast it: value.astype(mycelia.float32)",
            )
        return value

    def _add_parameter(self, value: Any, name: str) -> Any:
        """A parameter as a floating-point tensor; parameters must share a dtype and broadcast."""
        dtype = value.dtype if isinstance(value, Tensor) else _written_dtype(self.name, name, value)
        if not dtype.is_float:
            raise wrong_type(self.name, f"dtype of {name}", dtype, "a float type")
        if self.common_dtype not in (None, dtype):
            raise problem(
                TypeError,
                f"{self.name}: the dtype of {name} differs from the other parameters",
                got=str(dtype),
                expected=str(self.common_dtype),
            )
        tensor = parameter_tensor(value, dtype)
        self.common_dtype = dtype
        self._batch_shape = broadcast(self._batch_shape, tensor.shape, op=self.name)
        self.default_parameters.append(tensor)
        self.parameter_names.append(name)
        return tensor

    def extend_repr(self) -> str:
        if not self.is_scalar_batch:
            return f"batch_shape = {self.batch_shape}"
        pairs = zip(self.parameter_names, self.default_parameters)
        return ", ".join(f"{name} = {value}" for name, value in pairs)


def described(name: str, **values: Any) -> dict[str, Any]:
    """The `parameters` property of a bijector with these values."""
    return {**values, "name": name, "param_dict": values}


def _written_dtype(owner: str, name: str, value: Any) -> DType:
    """The dtype of Python numbers: floats are float32, ints are rejected."""
    if value is None:
        raise problem(TypeError, f"{owner}: {name} is None", expected="numbers")
    found = Tensor(value).dtype if isinstance(value, (int, float, list, tuple)) else None
    if found is not None and not found.is_float:
        return found
    return parameter_dtype((), None)
