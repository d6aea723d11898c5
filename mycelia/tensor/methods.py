"""Tensor methods whose signature differs from that of the function of the same name."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.hook_handle import HookHandle
from mycelia._engine.core.network_version import note_network_change
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia.ops.elementwise import lerp
from mycelia.ops.elementwise import where as selecting
from mycelia.ops.elementwise.complex_numbers import conj
from mycelia.ops.indexing import gather
from mycelia.ops.indexing.index_modes import brought_inside
from mycelia.ops.linalg.matrix_functions import ormqr
from mycelia.ops.reduction import reduction
from mycelia.ops.reduction.argmax import argmax, argmin
from mycelia.ops.reduction.variance import std, var
from mycelia.ops.shapes import reshape as shaping
from mycelia.ops.shapes.creation import full, ones, zeros
from mycelia.ops.shapes.tile import repeat_interleave, tile
from mycelia.ops.shapes.views import swapaxes
from mycelia.ops.tensor_method_forms import bits_as, matrix_transposed
from mycelia.tensor.hooks import TensorHooks
from mycelia.tensor.method_arguments import asked, select
from mycelia.tensor.operators import TensorOperators
from mycelia.tensor.views import relate

_STOP_GRADIENT = shaping.StopGradient.of()


class TensorMethods(TensorOperators):
    """Tensor methods for dtypes, shapes, reductions, and copies."""

    size: builtins.int
    itemsize: builtins.int
    strides: tuple[builtins.int, ...]
    asnumpy: Callable[[], np.ndarray]
    _wrap: Callable[..., Any]

    # ---- dtype ------------------------------------------------------------------------------

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Cast to another dtype; as in NumPy, the Python type `float` means float64 here."""
        return shaping.cast(self, dtypes.float64 if dtype in (float, "float") else dtype)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Cast to another dtype: `to(dtype)`, `to(device, dtype)`, or `to(other)`.

        The tensor stays on its device: programs move their inputs to the device that they run on.
        """
        dtype, is_copied = asked(args, kwargs)
        found = self if dtype is None else shaping.cast(self, dtype)
        return found.copy() if is_copied and found is self else found

    def type_as(self, other: Any) -> Any:
        check_tensors("type_as", other=other)
        return shaping.cast(self, other.dtype)

    def set_dtype(self, dtype: Any) -> Any:
        """Cast this tensor to `dtype` in place."""
        self._rebind(shaping.cast(self, dtype))
        return self

    def type(self, dtype: Any = None) -> Any:
        return str(self.dtype) if dtype is None else shaping.cast(self, dtype)

    def bool(self) -> Any:
        return shaping.cast(self, dtypes.bool_)

    def byte(self) -> Any:
        return shaping.cast(self, dtypes.uint8)

    def short(self) -> Any:
        return shaping.cast(self, dtypes.int16)

    def int(self) -> Any:
        return shaping.cast(self, dtypes.int32)

    def long(self) -> Any:
        return shaping.cast(self, dtypes.int64)

    def half(self) -> Any:
        return shaping.cast(self, dtypes.float16)

    def bfloat16(self) -> Any:
        return shaping.cast(self, dtypes.bfloat16)

    def float(self) -> Any:
        return shaping.cast(self, dtypes.float32)

    def double(self) -> Any:
        return shaping.cast(self, dtypes.float64)

    def is_floating_point(self) -> builtins.bool:
        return self.dtype.is_float

    def is_complex(self) -> builtins.bool:
        return self.dtype.is_complex

    def is_signed(self) -> builtins.bool:
        return self.dtype.kind in ("int", "float", "complex")

    # ---- shape ------------------------------------------------------------------------------

    def reshape(self, *sizes: Any, shape: Any = None) -> Any:
        """Change the shape: `reshape(2, 3)` or `reshape((2, 3))`."""
        return shaping.reshape(self, _unpacked(sizes) if shape is None else shape)

    def view(self, *sizes: Any, shape: Any = None, dtype: Any = None) -> Any:
        """View the elements in another shape, or reinterpret the bytes as `dtype`."""
        if len(sizes) == 1 and isinstance(sizes[0], DType):
            dtype = sizes[0]
        if dtype is not None:
            return bits_as(self, dtype)
        return shaping.reshape(self, _unpacked(sizes) if shape is None else shape)

    def reshape_as(self, other: Any) -> Any:
        check_tensors("reshape_as", other=other)
        return shaping.reshape(self, other.shape)

    def transpose(self, *axes: Any, **dims: Any) -> Any:
        """Permute the axes; without arguments, reverse them.

        `transpose(dim0, dim1)` swaps two axes; pass a permutation of two axes as a tuple.
        """
        if dims or (len(axes) == 2 and all(isinstance(axis, builtins.int) for axis in axes)):
            return self._swapped(*axes, **dims)
        order = _unpacked(axes) if axes and axes != (None,) else range(len(self.shape))[::-1]
        return shaping.transpose(self, tuple(order))

    def _swapped(self, dim0: Any, dim1: Any) -> Any:
        return swapaxes(self, dim0, dim1)

    def permute(self, *order: Any, axis: Any = None, dims: Any = None) -> Any:
        """Permute the axes: `permute(1, 0)`, `permute((1, 0))`, or `permute(dims=...)`."""
        named = axis if dims is None else dims
        return shaping.transpose(self, tuple(_unpacked(order) if named is None else named))

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def H(self) -> Any:
        """The conjugate transpose of a matrix."""
        if len(self.shape) != 2:
            raise problem(ValueError, "H: the tensor must be a matrix", got=f"shape {self.shape}")
        return self.mH

    @property
    def mT(self) -> Any:
        return matrix_transposed(self)

    @property
    def mH(self) -> Any:
        flipped = matrix_transposed(self)
        return conj(flipped) if self.dtype.is_complex else flipped

    def flatten(
        self, order: Any = "C", last: Any = -1, *, start_dim: builtins.int = 0, end_dim: Any = -1
    ) -> Any:
        """Flatten all axes, or those from `start_dim` to `end_dim`."""
        if isinstance(order, builtins.int):  # flatten(start_dim, end_dim)
            order, start_dim, end_dim = "C", order, last
        if order not in ("C", "F"):
            raise problem(ValueError, "flatten: order must be 'C' or 'F'", got=repr(order))
        source = self if order == "C" else self.transpose()
        shape = source.shape
        first = start_dim % max(1, len(shape))
        end = end_dim % max(1, len(shape))
        return shaping.reshape(source, (*shape[:first], -1, *shape[end + 1 :]))

    def ravel(self) -> Any:
        return shaping.reshape(self, (-1,))

    def resize(self, *new_shape: Any) -> Any:
        """Change the shape, truncating the elements or padding them with zeros."""
        shape = tuple(_unpacked(new_shape))
        flat = np.zeros(int(np.prod(shape)), self.dtype.numpy)
        kept = np.asarray(self).ravel()[: flat.size]
        flat[: kept.size] = kept
        return type(self)._wrap(flat.reshape(shape))

    def expand(self, *size: Any) -> Any:
        return shaping.broadcast_to(self, tuple(_unpacked(size)))

    def expand_as(self, other: Any) -> Any:
        check_tensors("expand_as", other=other)
        return shaping.broadcast_to(self, other.shape)

    def dim(self) -> builtins.int:
        return len(self.shape)

    def ndimension(self) -> builtins.int:
        return len(self.shape)

    def numel(self) -> builtins.int:
        return self.size

    def nelement(self) -> builtins.int:
        return self.size

    def stride(self, dim: Any = None) -> Any:
        steps = [s // self.itemsize for s in self.strides]
        return steps if dim is None else steps[dim]

    def contiguous(self) -> Any:
        return self

    def is_contiguous(self) -> builtins.bool:
        return True

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Repeat each element, as `numpy.repeat` does."""
        if axis is None:
            return repeat_interleave(self.ravel(), repeats, 0)
        return repeat_interleave(self, repeats, axis)

    def tile(self, *counts: Any, reps: Any = None, dims: Any = None) -> Any:
        """Repeat the tensor along its axes: `tile(2, 1)`, `tile((2, 1))`, or `tile(dims=...)`."""
        named = reps if dims is None else dims
        return tile(self, tuple(_unpacked(counts) if named is None else named))

    # ---- reductions -------------------------------------------------------------------------

    def sum(
        self, axis: Any = None, dtype: Any = None, keepdims: Any = False, initial: Any = None
    ) -> Any:
        if isinstance(dtype, builtins.bool):  # sum(dim, keepdim)
            dtype, keepdims = None, dtype
        total = reduction.sum(self, axis, keepdims, dtype=dtype)
        return total if initial is None else total + initial

    def mean(self, axis: Any = None, keep_dims: Any = False, *, dtype: Any = None) -> Any:
        source = self if dtype is None else shaping.cast(self, dtype)
        return reduction.mean(source, axis, keep_dims)

    def prod(self, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> Any:
        return reduction.prod(self, axis, keep_dims, dtype)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        """The largest element, over all axes or over `axis`.

        The form is `max(axis=None, keepdims=False, *, initial, where, return_indices)`.
        `max(dim, keepdim=False)`, with one axis by position or as `dim`, returns the largest
        elements along it and their indices.
        """
        return self._extreme(reduction.amax, argmax, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Any:
        """The smallest element, over all axes or over `axis`.

        The form is `min(axis=None, keepdims=False, *, initial, where, return_indices)`.
        `min(dim, keepdim=False)`, with one axis by position or as `dim`, returns the smallest
        elements along it and their indices.
        """
        return self._extreme(reduction.amin, argmin, *args, **kwargs)

    def _extreme(self, value: Any, place: Any, *args: Any, **kwargs: Any) -> Any:
        by_position = args and isinstance(args[0], builtins.int) and not kwargs.keys() - {"keepdim"}
        if "dim" in kwargs or by_position:
            return self._extremes_along(value, place, *args, **kwargs)
        return self._extreme_over(value, place, *args, **kwargs)

    def _extremes_along(self, value: Any, place: Any, dim: Any, keepdim: Any = False) -> Any:
        if isinstance(dim, builtins.bool):
            raise wrong_type("max and min", "dim", dim, "int")
        positions = shaping.cast(place(self, dim, keepdim), dtypes.int64)
        return value(self, dim, keepdim), positions

    def _extreme_over(
        self,
        value: Any,
        place: Any,
        axis: Any = None,
        keepdims: Any = False,
        *,
        initial: Any = None,
        where: Any = True,
        return_indices: Any = False,
    ) -> Any:
        mask = None if where is True else where
        found = value(self, axis, keepdims, initial=initial, where=mask)
        if not return_indices:
            return found
        return found, shaping.cast(place(self, axis, keepdims), dtypes.int64)

    def argmax(self, axis: Any = None, keepdims: Any = False) -> Any:
        return argmax(self, axis, keepdims)

    def argmin(self, axis: Any = None, keepdims: Any = False) -> Any:
        return argmin(self, axis, keepdims)

    def var(self, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
        return var(self, axis, ddof, keepdims)

    def std(self, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
        return std(self, axis, ddof, keepdims)

    def all(self, axis: Any = None, keep_dims: Any = False) -> Any:
        return reduction.all(self, axis, keep_dims)

    def any(self, axis: Any = None, keep_dims: Any = False) -> Any:
        return reduction.any(self, axis, keep_dims)

    def ptp(self, axis: Any = None, keepdims: Any = False) -> Any:
        """The range (maximum minus minimum) of the elements."""
        return self.max(axis=axis, keepdims=keepdims) - self.min(axis=axis, keepdims=keepdims)

    # ---- arithmetic of the early API --------------------------------------------------------

    def tensor_add(self, other: Any) -> Any:
        return self + other

    def tensor_mul(self, other: Any) -> Any:
        return self * other

    def clip(self, min: Any = None, max: Any = None) -> Any:
        return lerp.clamp(self, min, max)

    def where(self, condition: Any, y: Any) -> Any:
        """This tensor where `condition` holds, `y` elsewhere."""
        return selecting.where(condition, self, y)

    def select(self, *args: Any, **kwargs: Any) -> Any:
        """`select(dim, index)`: one slice. `select(condition, y)`: the same as `where`."""
        return select(self, *args, **kwargs)

    def take(self, indices: Any, axis: Any = None, mode: str = "clip") -> Any:
        """Select elements by index, along an axis or from the flattened tensor.

        Indices out of range are clamped (`clip`) or wrap around (`wrap`).
        """
        source: Any = self.ravel() if axis is None else self
        place = normalize_axis(0 if axis is None else axis, source.ndim, "take")
        inside = brought_inside("take", indices, source.shape[place], mode, from_end=True)
        return gather.gather(source, inside, place)

    # ---- copies and values ------------------------------------------------------------------

    def copy(self) -> Any:
        """Copy the tensor; gradients flow through the copy."""
        return shaping.identity(self)

    def clone(self) -> Any:
        return self.copy()

    def value(self) -> Any:
        return self

    def init_data(
        self, slice_index: Any = None, shape: Any = None, opt_shard_group: Any = None
    ) -> Any:
        """Return the tensor, which already has its data; for compatibility with MindSpore."""
        return self

    def fill(self, value: Any) -> Any:
        """A tensor of the same shape and dtype with `value` everywhere."""
        return full(self.shape, value, dtype=self.dtype)

    def fill_(self, value: Any) -> Any:
        """Set all elements to `value`, in place."""
        self._become(self.fill(value))
        return self

    def zero_(self) -> Any:
        return self.fill_(0)

    def copy_(self, src: Any) -> Any:
        """Copy the elements of `src` into this tensor, in place."""
        self._become(shaping.cast(shaping.broadcast_to(src, self.shape), self.dtype))
        return self

    def new_zeros(self, size: Any, *, dtype: Any = None) -> Any:
        return zeros(size, dtype or self.dtype)

    def new_ones(self, size: Any, *, dtype: Any = None) -> Any:
        return ones(size, dtype or self.dtype)

    def ormqr(
        self, input2: Any, input3: Any, left: builtins.bool = True, transpose: Any = False
    ) -> Any:
        """Multiply `input3` by the orthogonal matrix given by this tensor and `input2`."""
        return ormqr(self, input2, input3, left, transpose)

    def itemset(self, *args: Any) -> Any:
        """Copy the tensor with one element changed: `itemset(value)` or `itemset(index, value)`."""
        *place, value = args
        array = np.array(self)
        where = place[0] if place else 0
        target = array if isinstance(where, tuple) else array.reshape(-1)
        target[where] = value
        return type(self)._wrap(array)

    # ---- bytes, addresses, and flags ---------------------------------------------------------

    def get_bytes(self) -> bytes:
        """The bytes of the elements, as stored in memory."""
        return np.asarray(self).tobytes()

    @classmethod
    def convert_bytes_to_tensor(cls, bytes_data: bytes, shape: Any, dtype: DType) -> Any:
        """Create a tensor from the bytes that `get_bytes` returned."""
        return cls._wrap(np.frombuffer(bytes_data, dtype.numpy).reshape(shape).copy())

    def data_ptr(self) -> builtins.int:
        """The address of the elements in host memory."""
        return self.asnumpy().ctypes.data

    def storage_offset(self) -> builtins.int:
        """The offset of the tensor in its memory: always 0."""
        return 0

    def assign_value(self, value: Any) -> Any:
        """Copy the elements of another tensor into this one."""
        self._rebind(value)
        return self

    @property
    def data(self) -> Any:
        """A tensor that shares these elements, without gradients; writes show in both."""
        same = type(self)._wrap(self._data)
        if handlers.before_write is None:
            relate(_STOP_GRADIENT, self, (), (), same)
        return same

    def is_init(self) -> builtins.bool:
        """Whether the data is still uninitialized: always False."""
        return False

    @property
    def has_init(self) -> builtins.bool:
        """Whether the data came from an initializer."""
        return self.__dict__.get("init") is not None

    def register_hook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """Call `hook(gradient)` in the backward pass; its result replaces the gradient."""
        if not callable(hook):
            raise wrong_type("register_hook", "hook", hook, "function")
        if handlers.hook is not None:
            return handlers.hook(self, hook)
        if self._mark is None:
            note_network_change()
            hooks = self.__dict__.setdefault("hooks", [])
            TensorHooks.present = True
        else:
            hooks = self._mark.hooks = self._mark.hooks or []
        hooks.append(hook)
        return HookHandle(hooks, hook)


def _unpacked(values: tuple[Any, ...]) -> Any:
    """The single sequence in `values`, or `values` itself."""
    return values[0] if len(values) == 1 and not isinstance(values[0], builtins.int) else values
