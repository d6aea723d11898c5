"""Values as JSON: Python values, NumPy arrays, and tensors; large arrays are stored apart."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import by_name, from_numpy
from mycelia._engine.core.errors import problem
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

_PLAIN = (bool, int, float, str, type(None))
_SMALL = 512  # bytes of an array that is stored in the text


def pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """A value for `json.dumps`; large arrays are appended to `arrays` and become indices."""
    if isinstance(value, Parameter):
        return {"parameter": value.name, "data": _pack_array(value.asnumpy(), arrays)}
    if isinstance(value, Tensor):
        return {"tensor": _pack_array(value.asnumpy(), arrays)}
    if isinstance(value, np.generic):
        return {"scalar": _pack_array(np.asarray(value), arrays)}
    if isinstance(value, np.ndarray):
        return {"array": _pack_array(value, arrays)}
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict):
        return {"dict": [[pack(k, arrays), pack(v, arrays)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        items = [pack(item, arrays) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    raise problem(
        TypeError,
        "state: a checkpoint cannot store a value of this type",
        got=type(value).__name__,
        expected="numbers, str, None, arrays, tensors, and lists, tuples, and dicts of these",
    )


def unpack(value: Any, arrays: list[np.ndarray]) -> Any:
    """Restore a packed value. Raises ValueError for other values."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    make = _UNPACKED.get(next(iter(value), ""))
    if make is None:
        raise ValueError(f"{value!r:.80} is not a packed value")
    try:
        return make(value, arrays)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{value!r:.80} is not a packed value: {error}") from None


_UNPACKED: dict[str, Any] = {
    "parameter": lambda v, a: Parameter(
        Tensor(_unpack_array(v["data"], a).copy()), name=v["parameter"]
    ),
    "tensor": lambda v, a: Tensor(_unpack_array(v["tensor"], a).copy()),
    "scalar": lambda v, a: _unpack_array(v["scalar"], a)[()],
    "array": lambda v, a: _unpack_array(v["array"], a).copy(),
    "dict": lambda v, a: {unpack(k, a): unpack(x, a) for k, x in v["dict"]},
    "tuple": lambda v, a: tuple(unpack(v["tuple"], a)),
}


def _pack_array(array: np.ndarray, arrays: list[np.ndarray]) -> Any:
    if array.nbytes > _SMALL:
        arrays.append(array)
        return len(arrays) - 1
    content = b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return [str(from_numpy(array.dtype)), list(array.shape), content]


def _unpack_array(packed: Any, arrays: list[np.ndarray]) -> np.ndarray:
    if isinstance(packed, int):
        if not 0 <= packed < len(arrays):
            raise ValueError(f"array {packed} of {len(arrays)}")
        return arrays[packed]
    name, shape, content = packed
    return np.frombuffer(b64decode(content, validate=True), by_name(name).numpy).reshape(shape)
