"""Custom operators: PrimitiveWithInfer, prim_attr_register, Custom."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import as_shape
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import jax, jnp
from mycelia._engine.operators.operator import default_grad, default_infer


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorates the `__init__` of an operator: every argument becomes an attribute."""

    @wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(fn).bind(self, *args, **kwargs)
        bound.apply_defaults()
        attributes = dict(list(bound.arguments.items())[1:])
        Primitive.__init__(self, type(self).__name__)
        self.init_attrs = attributes
        for name, value in attributes.items():
            setattr(self, name, value)
        fn(self, *args, **kwargs)

    return init


class PrimitiveWithInfer(Primitive):
    """Base class of custom operators.

    `infer_shape` and `infer_dtype` return the type of the result; `lower(self, *arrays)` computes
    it with functions on arrays; `bprop(self, *inputs, out, dout)` returns the gradients. Without
    `bprop`, gradients are derived from `lower`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.init_attrs: dict[str, Any] = {}

    @property
    def attributes(self) -> dict[str, Any]:
        return dict(self.__dict__.get("init_attrs", {}))

    def init_prim_io_names(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Names the inputs and outputs for messages and graph text."""
        self.add_prim_attr("input_names", tuple(inputs))
        self.add_prim_attr("output_names", tuple(outputs))

    def infer_shape(self, *shapes: Any) -> Any:
        """The shape of the result, from the shapes of the inputs."""
        raise self._missing("infer_shape")

    def infer_dtype(self, *dtypes: DType) -> Any:
        """The dtype of the result, from the dtypes of the inputs."""
        raise self._missing("infer_dtype")

    def infer_value(self, *values: Any) -> Any:
        """The result if it is a compile-time constant, else None."""
        return None

    def infer(self, *args: Any) -> Any:
        types = [a for a in args if isinstance(a, TensorType)]
        shape = self.infer_shape(*(t.shape for t in types))
        dtype = self.infer_dtype(*(t.dtype for t in types))
        if isinstance(dtype, (tuple, list)):
            return tuple(TensorType(as_dtype(d), tuple(s)) for s, d in zip(shape, dtype))
        return TensorType(as_dtype(dtype), tuple(shape))

    def grad(self, *args: Any) -> tuple[Any, ...]:
        if hasattr(self, "bprop"):
            gradients = self.bprop(*args)
            return gradients if isinstance(gradients, tuple) else (gradients,)
        return default_grad(self, args)

    def _missing(self, rule: str) -> RuntimeError:
        return problem(
            RuntimeError,
            f"{self.name} has no {rule}",
            fix=f"define {rule}(self, ...) in the class",
        )


class Custom(Primitive):
    """A Python function as an operator.

    With `func_type="pyfunc"`, `func` accepts and returns NumPy arrays and runs on the host. With
    `"jax"`, it accepts and returns JAX arrays, becomes part of the XLA program, and has a gradient.
    `bprop(*inputs, out, dout)` returns custom gradients.
    """

    calls_python = True

    def __init__(
        self,
        func: Callable[..., Any],
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "pyfunc",
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ) -> None:
        super().__init__(f"Custom[{getattr(func, '__name__', 'function')}]")
        if not callable(func):
            raise wrong_type("Custom", "func", func, "a Python function")
        if func_type not in ("pyfunc", "jax"):
            raise wrong_value("Custom", "func_type", func_type, "'pyfunc' or 'jax'")
        self.func, self.func_type, self.bprop = func, func_type, bprop
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self.host_only = func_type == "pyfunc"  # type: ignore[misc]
        self.host = self._on_host if self.host_only else None  # type: ignore[misc]
        self.differentiable = func_type == "jax" or bprop is not None  # type: ignore[misc]

    @property
    def attributes(self) -> dict[str, Any]:
        return {"func": self.func, "func_type": self.func_type, "bprop": self.bprop}

    def infer(self, *types: Any) -> Any:
        if self.func_type == "jax":
            return default_infer(self, types)
        if self.out_shape is None or self.out_dtype is None:
            raise problem(
                ValueError,
                f"{self.name}: cannot infer the type of the result",
                fix="pass out_shape and out_dtype (values, or functions of those of the inputs)",
            )
        shape = _answer(self.out_shape, [t.shape for t in types])
        dtype = _answer(self.out_dtype, [t.dtype for t in types])
        if isinstance(dtype, (tuple, list)):
            return tuple(
                TensorType(as_dtype(d), as_shape(s, self.name)) for s, d in zip(shape, dtype)
            )
        return TensorType(as_dtype(dtype), as_shape(shape, self.name))

    def lower(self, *arrays: Any) -> Any:
        if self.func_type == "jax":
            return self.func(*arrays)
        types = [TensorType(as_dtype(np.dtype(a.dtype)), a.shape) for a in arrays]
        result = jax.tree.map(
            lambda t: jax.ShapeDtypeStruct(t.shape, t.dtype.numpy),
            self.infer(*types),
            is_leaf=lambda t: isinstance(t, TensorType),
        )
        return jax.pure_callback(self._on_host, result, *map(jnp.asarray, arrays))

    def _on_host(self, *arrays: Any) -> Any:
        result = self.func(*(np.asarray(a) for a in arrays))
        if isinstance(result, (tuple, list)):
            return tuple(np.asarray(r) for r in result)
        return np.asarray(result)

    def grad(self, *args: Any) -> tuple[Any, ...]:
        if self.bprop is None:
            return default_grad(self, args)
        gradients = self.bprop(*args)
        return gradients if isinstance(gradients, tuple) else (gradients,)


def _answer(rule: Any, inputs: list[Any]) -> Any:
    return rule(*inputs) if callable(rule) and not isinstance(rule, DType) else rule
