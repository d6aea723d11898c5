"""Merging shards into whole parameters, in memory and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train import safetensors_format
from mycelia.train.checkpoint import load_checkpoint, load_param_into_net
from mycelia.train.distributed_checkpoint.catalogue import ShardCatalogue
from mycelia.train.distributed_checkpoint.index import INDEX_SUFFIX, found_index

Choice = Callable[[str], bool | str]


def unified_safetensors(
    src_dir: str,
    src_strategy_file: str | None,
    dst_dir: str,
    merge_with_redundancy: bool = True,
    file_suffix: str | None = None,
    max_process_num: int = 64,
    choice_func: Choice | None = None,
    split_dst_file: tuple[int, ...] = (),
) -> None:
    """Write a sharded checkpoint as one safetensors file of whole parameters, in `dst_dir`.

    `file_suffix` selects one of several checkpoints in the folder by the end of its name.
    `choice_func` of a name returns whether to write it, or a new name. With
    `split_dst_file=(2, 3)`, only the second of three files is written, with a third of the
    parameters. Shards contain their layouts, so no strategy is needed. Memory holds one parameter
    at a time.
    """
    index = _chosen_index(Path(src_dir), file_suffix)
    catalogue = ShardCatalogue.of_index(index)
    names = _renamed(catalogue.names, choice_func)
    target = index.name.removesuffix(INDEX_SUFFIX)
    if split_dst_file:
        number, count = _checked_split(split_dst_file)
        names = dict(list(names.items())[number - 1 :: count])
        target = f"{target}-{number:05}-of-{count:05}"
    write_atomically(Path(dst_dir) / f"{target}.safetensors", _content(catalogue, names))


def _content(catalogue: ShardCatalogue, names: Mapping[str, str]) -> Iterator[bytes]:
    kinds = {new: (catalogue.dtype(old).name, catalogue.shape(old)) for new, old in names.items()}
    yield safetensors_format.head(kinds, {"format": "ms", **catalogue.texts}, check=False)
    for old in names.values():
        yield catalogue.whole(old).tobytes()


def _chosen_index(folder: Path, suffix: str | None) -> Path:
    if suffix is None:
        return found_index(folder)
    files = sorted(folder.glob(f"*{INDEX_SUFFIX}"))
    chosen = [file for file in files if file.name.removesuffix(INDEX_SUFFIX).endswith(suffix)]
    if len(chosen) != 1:
        raise problem(
            ValueError,
            f"unified_safetensors: {len(chosen)} checkpoints in {folder} end with {suffix!r}",
            got=", ".join(file.name for file in files[:5]),
            expected="one",
        )
    return chosen[0]


def _renamed(names: Sequence[str], choice: Choice | None) -> dict[str, str]:
    """The names in the checkpoint by the names in the new file."""
    renamed: dict[str, str] = {}
    for name in names:
        new = True if choice is None else choice(name)
        if new:
            renamed[new if isinstance(new, str) else name] = name
    if not renamed:
        raise problem(ValueError, "unified_safetensors: choice_func selects no parameter")
    return renamed


def _checked_split(split: Any) -> tuple[int, int]:
    fits = isinstance(split, tuple) and len(split) == 2 and all(type(n) is int for n in split)
    if not fits or not 1 <= split[0] <= split[1]:
        raise wrong_value(
            "unified_safetensors", "split_dst_file", split, "(number of the file, number of files)"
        )
    return split


def load_segmented_checkpoints(
    ckpt_file_dir: str,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: Any = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Any = None,
    choice_func: Callable[[str], bool] | None = None,
) -> dict[str, Parameter]:
    """Load all `.ckpt` files of a folder, each with some of the parameters."""
    files = sorted(Path(ckpt_file_dir).glob("*.ckpt"))
    if not files:
        raise problem(
            ValueError, "load_segmented_checkpoints: there is no .ckpt file", got=str(ckpt_file_dir)
        )
    read = partial(
        load_checkpoint,
        filter_prefix=filter_prefix,
        dec_key=dec_key,
        dec_mode=dec_mode,
        specify_prefix=specify_prefix,
        choice_func=choice_func,
    )
    loaded: dict[str, Parameter] = {}
    for file in files:
        loaded |= read(str(file))
    if net is not None:
        load_param_into_net(net, loaded, strict_load)
    return loaded


def merge_sliced_parameter(
    sliced_parameters: Sequence[Parameter],
    strategy: Mapping[str, tuple[Mesh, Placement]] | None = None,
) -> Parameter:
    """The whole parameter from its shards, one for each device, in the order of devices.

    `strategy` is how parameters are sharded, as returned by `build_searched_strategy`; without
    one, the shards are rows, in order.
    """
    owner = "merge_sliced_parameter"
    parts = list(sliced_parameters)
    if not parts or not all(isinstance(part, Parameter) for part in parts):
        raise wrong_type(owner, "sliced_parameters", sliced_parameters, "a list of Parameter")
    first = parts[0]
    for part in parts:
        if (part.name, part.dtype) != (first.name, first.dtype):
            raise problem(
                ValueError,
                f"{owner}: the shards belong to different parameters",
                got=f"{part.name} of {part.dtype}",
                expected=f"{first.name} of {first.dtype}",
            )
    arrays = [np.asarray(part) for part in parts]
    if strategy is None:
        whole = np.concatenate(arrays)
    elif first.name in strategy:
        whole = _joined(first.name, arrays, *strategy[first.name])
    else:
        raise problem(
            KeyError, f"{owner}: the strategy has no entry for {first.name}",
            got=", ".join(list(strategy)[:5]),
        )  # fmt: skip
    return Parameter(Tensor(whole), first.name, first.requires_grad, first.layerwise_parallel)


def _joined(
    name: str, arrays: Sequence[np.ndarray], mesh: Mesh, placement: Placement
) -> np.ndarray:
    """Assemble the shards of all devices of a mesh."""
    shape, counts = arrays[0].shape, [mesh.degree(dim) for dim in placement.dims]
    if len(arrays) != mesh.devices or len(shape) != len(counts):
        raise problem(
            ValueError,
            f"merge_sliced_parameter: the shards of {name} do not match the strategy",
            got=f"{len(arrays)} shards of shape {shape}",
            expected=f"{mesh.devices} shards with {len(counts)} dimensions",
        )
    whole = np.empty([n * count for n, count in zip(shape, counts, strict=True)], arrays[0].dtype)
    for device, array in enumerate(arrays):
        coordinates = np.unravel_index(device, mesh.sizes)
        region = []
        for size, dim in zip(shape, placement.dims, strict=True):
            number = 0
            for axis in dim:
                number = number * mesh.sizes[axis] + int(coordinates[axis])
            region.append(slice(number * size, (number + 1) * size))
        whole[tuple(region)] = array
    return whole


def sync_pipeline_shared_parameters(net: Cell) -> None:
    """For compatibility: a parameter that several stages share is stored once for all."""
    if not isinstance(net, Cell):
        raise wrong_type("sync_pipeline_shared_parameters", "net", net, "Cell")
