"""Internal names of `mindspore.train.serialization` and `mindspore.train._utils`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import ALL, DType
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.printer import show
from mycelia.compat.internal_names.callbacks import _CheckpointManager as _CheckpointManager
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.checkpoint_files import made_directory
from mycelia.train.checkpoint import check_fits, save_checkpoint
from mycelia.transforms.jit import compiled_of

tensor_to_ms_type: dict[str, DType] = {dtype.title: dtype for dtype in ALL}
tensor_to_np_type: dict[str, Any] = {dtype.title: dtype.numpy.type for dtype in ALL}


def _update_param(param: Parameter, new_param: Any, strict_load: bool) -> None:
    """Set a parameter from a checkpoint's parameter."""
    check_fits(param, new_param, strict_load)
    param.set_data(new_param)


def _save_graph(network: Any, file_name: str) -> None:
    """Write the compiled graphs of a network as text."""
    reads = [entry.read for entry in compiled_of(network).entries.values() if entry.read]
    if not reads:
        raise problem(
            RuntimeError,
            "the network is not compiled yet, so there is no graph to save",
            fix="call it once in graph mode",
        )
    Path(file_name).write_text("\n".join(show(read.program.graph) for read in reads))


def _exec_save(ckpt_file_name: str, data_list: dict[str, Any], *args: Any, **kwargs: Any) -> None:
    """Save `{name: (dims, dtype name, values)}`."""
    tensors = {name: _tensor_of(*entry[:3]) for name, entry in data_list.items()}
    save_checkpoint(tensors, ckpt_file_name)


def _tensor_of(dims: Any, title: str, numbers: Any) -> Tensor:
    array = numbers.asnumpy() if isinstance(numbers, Tensor) else np.asarray(numbers)
    return Tensor(array.reshape(tuple(dims)).astype(tensor_to_np_type[title]))


def _make_directory(path: str, arg_name: str = "path") -> str:
    """Create a directory if needed, and return its absolute path."""
    return made_directory("_make_directory", arg_name, path)


def _to_tensor(elem: Any, scaling_sens: Any = None) -> Any:
    """Convert NumPy arrays, and lists of them, to tensors, followed by the scale if given."""
    single = not isinstance(elem, (tuple, list))
    tensors = [
        value if isinstance(value, Tensor) else Tensor(value)
        for value in ([elem] if single else elem)
    ]
    if scaling_sens:
        return (*tensors, Tensor(scaling_sens))
    return tensors[0] if single else tuple(tensors)


def _get_types_and_shapes(dataset: Any) -> tuple[Any, Any]:
    """Dtypes and shapes of the columns of a dataset."""
    return [from_title(kind) for kind in dataset.output_types()], dataset.output_shapes()


def from_title(kind: Any) -> Any:
    """Dtype of a NumPy type."""
    return Tensor(np.zeros((), kind)).dtype


def _construct_tensor_list(
    types: Iterable[Any], shapes: Any, batch_expand_num: int = 1
) -> list[Any]:
    """Tensors of ones with the given dtypes and shapes."""
    sizes = [(shape[0] * batch_expand_num, *shape[1:]) if shape else () for shape in shapes]
    return [Tensor(np.ones(size, kind.numpy)) for kind, size in zip(types, sizes, strict=True)]
