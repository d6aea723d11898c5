"""The Tensor class: an array on the host or a device, with MindSpore's interface."""

from __future__ import annotations

from sys import getrefcount
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core import pending_checks
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.keyword_suggestions import refuse_others
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.ir.node import GraphNode
from mycelia.tensor.conversion import array_from, check_shape_and_init
from mycelia.tensor.methods import TensorMethods
from mycelia.tensor.operator_methods import attach
from mycelia.tensor.printing import tensor_repr, tensor_str
from mycelia.tensor.unsized_array import UnsizedArray, has_unknown_sizes, unranked, unsized
from mycelia.tensor.views import TensorView, numpy_of, refresh, replace

_ALONE = 3  # references to an array that only its tensor holds: the slot, a name, the count itself
_ARGUMENTS = ("input_data", "dtype", "shape", "init", "internal", "const_arg")
_DEVICES = ("CPU", "GPU", "TPU", "Ascend")


class Tensor(TensorMethods):
    """An n-dimensional array of one dtype.

    It holds a NumPy array (small or new data) or a device array. Arrays are replaced, never
    changed in place, unless `asnumpy` or `from_numpy` shares one with the user.
    """

    __slots__ = ("_data", "_mark", "_relation", "_shared")
    _is_parameter: ClassVar[bool] = False

    def __init__(
        self,
        input_data: Any = None,
        dtype: Any = None,
        shape: Any = None,
        init: Any = None,
        internal: bool = False,
        const_arg: bool = False,
        **unknown: Any,
    ) -> None:
        if unknown:
            refuse_others("Tensor.__init__", unknown, _ARGUMENTS)
        wanted = None if dtype is None else _checked_dtype(dtype)
        self._mark = self._relation = None
        self._shared = False
        if init is not None or shape is not None:
            if has_unknown_sizes(shape):
                self._data = unsized(shape, wanted, input_data, init)
                return
            shape_, wanted = check_shape_and_init(input_data, wanted, shape, init)
            self._data = _initial_array(init, shape_, wanted)
            return
        if input_data is None and wanted is not None:
            self._data = unranked(wanted)
        else:
            self._data = array_from(input_data, wanted)

    @staticmethod
    def _wrap(array: Any) -> Tensor:
        """A tensor around `array`, without copies or checks."""
        tensor = Tensor.__new__(Tensor)
        tensor._data = array
        tensor._mark = tensor._relation = None
        tensor._shared = False
        return tensor

    def __getattr__(self, name: str) -> Any:
        """Called for missing attributes only: a write to a related view deletes a view's array."""
        if name in ("_data", "_mark") and refresh(self):
            return object.__getattribute__(self, name)
        return object.__getattribute__(self, name)  # raises the original error

    def _replace(self, array: Any) -> None:
        """Replace the array of the tensor; gradients do not flow further back."""
        pending_checks.wait_for_checks()  # a wrong index must not reach the tensor
        if handlers.before_write is not None:
            handlers.before_write(self)
        if handlers.replacement is not None:
            array = handlers.replacement(self, array)
        if self._relation is None:
            self._data = array
            self._shared = False
        else:
            replace(self, array)

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """Create a tensor that shares memory with `array`: changes to one show in the other."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"The input array must be numpy.ndarray, but got {type(array)}.")
        dtypes.from_numpy(array.dtype)
        tensor = Tensor._wrap(np.ascontiguousarray(array))
        tensor._shared = True
        return tensor

    @staticmethod
    def from_dlpack(source: Any) -> Tensor:
        """Create a tensor from an object that supports the DLPack protocol."""
        return Tensor(np.from_dlpack(source))

    @property
    def shape(self) -> Shape:
        return tuple(self._data.shape)

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self._data.dtype)

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return int(self._data.size)

    @property
    def itemsize(self) -> int:
        return self.dtype.bits // 8

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return np.empty(self.shape, self.dtype.numpy).strides

    def _read(self) -> Any:
        """The array for a read; first raises pending index errors of the programs before it."""
        if pending_checks.unfinished_checks:
            pending_checks.wait_for_checks()
        return self._data

    def asnumpy(self) -> np.ndarray:
        """Return a writable NumPy array that shares memory with the tensor."""
        data = self._read()
        if getattr(data, "is_fully_addressable", True) is False:
            return handlers.gather(data)  # a copy: the array stays distributed over processes
        if isinstance(data, GraphNode):
            return np.array(data)  # a copy: the tensor stays a value of the traced program
        if self._shared:
            return data
        if type(self._relation) is TensorView:
            return numpy_of(self)
        if type(data) is not np.ndarray or not data.flags.writeable or getrefcount(data) > _ALONE:
            self._data = data = np.array(data)
        self._shared = True
        if self._relation is not None:
            self._relation.outdate(self)
        return data

    def numpy(self) -> np.ndarray:
        """The same as `asnumpy`."""
        return self.asnumpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        data = self._read()
        if getattr(data, "is_fully_addressable", True) is False:
            data = handlers.gather(data)
        return np.array(data, dtype=dtype, copy=copy)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return np.array(self._read()).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return np.asarray(self._read()).__dlpack_device__()

    def item(self, index: int | None = None) -> Any:
        """The only element (or the one at `index` of the flattened tensor) as a Python number."""
        if index is None and self.size != 1:
            raise ValueError(
                f"only a tensor of one element converts to a Python number, got shape {self.shape}"
            )
        array = np.asarray(self._read())
        return array.item() if index is None else array.item(index)

    def tolist(self) -> Any:
        return np.asarray(self._read()).tolist()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise problem(
                ValueError,
                "The truth value of an array with several elements is ambiguous. "
                f"Use any() or all(). Got shape {self.shape}.",
            )
        return bool(np.asarray(self._read()).item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise TypeError(f"only an integer tensor can be an index, got {self.dtype}")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("Not support len of a 0-D tensor")
        return self.shape[0]

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        if type(self._data) is UnsizedArray:
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value=\n)"
        return tensor_repr(np.asarray(self._read()), self.dtype)

    def __str__(self) -> str:
        return tensor_str(np.asarray(self._read()), self.dtype)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        data = self._read()
        array = data if type(data) is UnsizedArray else np.asarray(data)
        return _restore, (type(self), array, dict(self.__dict__))

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        data = self._read()
        array = data if type(data) is UnsizedArray else np.array(data)
        clone = _restore(type(self), array, dict(self.__dict__))
        memo[id(self)] = clone
        return clone


def _restore(cls: type[Tensor], array: Any, state: dict[str, Any]) -> Tensor:
    tensor = cls.__new__(cls)
    tensor._data = array
    tensor._mark = tensor._relation = None
    tensor._shared = False
    tensor.__dict__.update(state)
    return tensor


def _checked_dtype(dtype: Any) -> DType:
    """Check that `dtype` is a Mycelia dtype; like MindSpore, reject types and names."""
    if isinstance(dtype, DType):
        return dtype
    raise problem(
        TypeError,
        "Tensor: 'dtype' must be a Mycelia dtype",
        got=repr(dtype),
        expected="one such as mycelia.float32",
    )


def _initial_array(init: Any, shape: Shape, dtype: DType) -> np.ndarray:
    array = np.zeros(shape, dtype.numpy)
    if init is not None:
        init(array)
    return array


attach(Tensor)


def tensor(
    input_data: Any = None,
    dtype: Any = None,
    shape: Any = None,
    init: Any = None,
    const_arg: bool = False,
    device: str | None = None,
) -> Tensor:
    """Create a Tensor. `device` is ignored: programs move inputs to the device they run on."""
    if device is not None and str(device).partition(":")[0] not in _DEVICES:
        raise wrong_value("tensor", "device", device, f"one of {', '.join(_DEVICES)}")
    return Tensor(input_data, dtype, shape, init, const_arg=const_arg)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)
