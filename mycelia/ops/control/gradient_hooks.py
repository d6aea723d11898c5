"""Gradient hooks, and Python functions as operators inside programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.dtype import as_dtype
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import as_shape
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.primitive import Primitive, freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import identity


class InsertGradientOf(Op, register=False):
    """The identity, whose gradient is transformed by `f`."""

    f: Callable[[Any], Any]
    python_gradient: ClassVar[bool] = True

    def normalize(self) -> dict[str, Any]:
        if not callable(self.f):
            raise wrong_type(type(self).__name__, "f", self.f, "function")
        return {}

    def infer(self, x: Any) -> Any:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (call_user_function(self.f, dout),)


class RegisteredHooks:
    """Registered gradient hooks; a handle can remove one."""

    def __init__(self, functions: Iterable[Callable[[Any], Any]] = ()) -> None:
        self.functions = list(functions)


class Hooked(Op, register=False):
    """The identity, whose gradient is passed to the registered hooks."""

    registered: RegisteredHooks

    def infer(self, x: Any) -> Any:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (shown(self.registered.functions, dout),)


def shown(functions: Iterable[Callable[[Any], Any]], gradient: Any) -> Any:
    """Passes a gradient to functions, each of which may replace it."""
    for function in functions:
        changed = call_user_function(function, gradient)
        gradient = gradient if changed is None else changed
    return gradient


class _InsertGradients(Op, register=False):
    """The identity on several values, whose gradients `f` transforms together."""

    f: Callable[[Any], Any]
    python_gradient: ClassVar[bool] = True

    def infer(self, inputs: Any) -> Any:
        return tuple(inputs)

    def lower(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple([jnp.asarray(x) for x in inputs])

    def grad(self, inputs: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (self.f(tuple(dout)),)


class HookBackward(Primitive):
    """The identity; in the backward pass, `hook_fn` receives the gradients and may replace them."""

    def __init__(self, hook_fn: Callable[[Any], Any], cell_id: str = "") -> None:
        if not callable(hook_fn) or isinstance(hook_fn, type):
            raise wrong_type("HookBackward", "hook_fn", hook_fn, "function")
        if not isinstance(cell_id, str):
            raise wrong_type("HookBackward", "cell_id", cell_id, "str")
        super().__init__()
        self.hook_fn, self.cell_id = hook_fn, cell_id

    def __call__(self, *inputs: Any) -> Any:
        """Returns the input, or a tuple of several inputs."""
        for value in inputs or (None,):
            if not isinstance(value, TensorProtocol):
                raise wrong_type("HookBackward", "input", value, "Tensor")
        if len(inputs) > 1:
            return _InsertGradients(self._replaced)(inputs)
        passed: Any = identity(inputs[0])
        passed.register_hook(lambda gradient: self._replaced((gradient,))[0])
        return passed

    def _replaced(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """The hook receives and returns gradients as a tuple."""
        replaced = call_user_function(self.hook_fn, gradients)
        if replaced is None:
            return gradients
        changed = replaced if isinstance(replaced, tuple) else (replaced,)
        if len(changed) != len(gradients):
            raise problem(
                TypeError,
                "HookBackward: the function returned the wrong number of gradients",
                got=str(len(changed)),
                expected=f"a tuple of {len(gradients)}, or None to keep them",
            )
        return changed


class PyFunc(Op, register=False):
    """A NumPy function as an operator; it runs in Python whenever the program runs."""

    fn: Callable[..., Any]
    in_types: tuple[Any, ...]
    in_shapes: tuple[Any, ...]
    out_types: tuple[Any, ...]
    out_shapes: tuple[Any, ...]
    stateful: bool = True
    differentiable = False
    calls_python = True

    def normalize(self) -> dict[str, Any]:
        if not callable(self.fn):
            raise wrong_type("PyFunc", "fn", self.fn, "function")
        if len(self.in_types) != len(self.in_shapes) or len(self.out_types) != len(self.out_shapes):
            raise problem(
                ValueError,
                "PyFunc: every input and output needs one type and one shape",
                got=f"{len(self.in_types)} and {len(self.in_shapes)} for inputs, "
                f"{len(self.out_types)} and {len(self.out_shapes)} for outputs",
            )
        names = ("in_types", "in_shapes", "out_types", "out_shapes")
        return {name: freeze(getattr(self, name)) for name in names}

    def infer(self, *args: Any) -> Any:
        actual = tuple(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)
        wanted = self._types(self.in_types, self.in_shapes)
        if actual != wanted:
            raise problem(
                ValueError,
                "PyFunc: the inputs do not match in_types and in_shapes",
                got=", ".join(map(str, actual)),
                expected=", ".join(map(str, wanted)),
            )
        return self._types(self.out_types, self.out_shapes)

    def lower(self, *args: Any) -> tuple[Array, ...]:
        arrays = tuple(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)
        types = self._types(self.out_types, self.out_shapes)
        specs = tuple(jax.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in types)

        def run(*values: Any) -> tuple[Any, ...]:
            result = self.fn(*(np.asarray(v) for v in values))
            listed = result if isinstance(result, (tuple, list)) else (result,)
            return tuple(
                np.asarray(v, s.dtype).reshape(s.shape) for v, s in zip(listed, specs, strict=True)
            )

        return tuple(jax.pure_callback(run, specs, *arrays))

    def _types(self, types: Any, shapes: Any) -> tuple[TensorType, ...]:
        pairs = zip(types, shapes, strict=True)
        return tuple(TensorType(as_dtype(t), as_shape(s, "PyFunc")) for t, s in pairs)
