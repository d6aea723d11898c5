"""Loading a sharded checkpoint into a network: each process reads what its devices need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.warn_once import logger
from mycelia._engine.runtime.distributed.sharded_arrays import Region, filled_like
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.background_writer import finish
from mycelia.train.checkpoint import check_fits
from mycelia.train.distributed_checkpoint.catalogue import ShardCatalogue
from mycelia.train.distributed_checkpoint.index import INDEX_SUFFIX, found_index, is_index
from mycelia.train.distributed_checkpoint.part_file import opened
from mycelia.train.distributed_checkpoint.whole_files import whole_file

_OWNER = "load_distributed_checkpoint"


def load_distributed_checkpoint(
    network: Cell,
    checkpoint_filenames: Sequence[str] | str | None = None,
    predict_strategy: Any = None,
    train_strategy_filename: str | None = None,
    strict_load: bool = False,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    format: str = "ckpt",
    unified_safetensors_dir: str | None = None,
    dst_safetensors_dir: str | None = None,
    rank_id: int | None = None,
    output_format: str = "safetensors",
    name_map: Mapping[str, str] | None = None,
    max_process_num: int = 64,
    return_param_dict: bool = False,
) -> dict[str, Parameter] | None:
    """Set the parameters of `network` from a checkpoint saved by any number of processes.

    The checkpoint is the index or the folder `unified_safetensors_dir`, or the files of all
    processes, or safetensors files of whole parameters. Parameters keep their sharding: each
    process reads only the regions that its devices hold. `name_map` maps names in the files to
    names in the network. The files contain their layouts, so strategies are not needed.
    """
    if not isinstance(network, Cell):
        raise wrong_type(_OWNER, "network", network, "Cell")
    _refuse(dec_key, dst_safetensors_dir, rank_id)
    check_bool(_OWNER, "return_param_dict", return_param_dict)
    catalogue = _catalogue(checkpoint_filenames, unified_safetensors_dir)
    names = _names(catalogue, name_map or {})
    own = {parameter.name: parameter for parameter in network.get_parameters()}
    common = [name for name in own if name in names]
    if not common:
        raise problem(
            ValueError,
            f"{_OWNER}: no parameter of the network is in the checkpoint",
            got=f"{', '.join(list(names)[:3])}, ... in the files",
            expected=f"{', '.join(list(own)[:3])}, ...",
            fix="load into the cell that was saved, or map the names with name_map",
        )
    for name in common:
        _check(own[name], catalogue, names[name], strict_load)
    for name in common:
        _fill(own[name], catalogue, names[name])
    _report_missing(own, names, strict_load)
    return {name: own[name] for name in common} if return_param_dict else None


def _catalogue(files: Sequence[str] | str | None, folder: str | None) -> ShardCatalogue:
    if (files is None) == (folder is None):
        raise problem(
            ValueError,
            f"{_OWNER}: expected either checkpoint_filenames or unified_safetensors_dir",
            expected="one of checkpoint_filenames and unified_safetensors_dir",
        )
    listed = [files] if isinstance(files, str) else list(files or ())
    if folder is not None:
        listed = _in_folder(Path(folder))
    if len(listed) == 1 and (is_index(Path(listed[0])) or Path(listed[0]).is_dir()):
        index = found_index(Path(listed[0]))
        error = finish(index)
        if error is not None:
            raise error
        return ShardCatalogue.of_index(index)
    catalogue = ShardCatalogue([whole_file(path) or opened(path) for path in map(Path, listed)])
    catalogue.check()
    return catalogue


def _in_folder(folder: Path) -> list[str]:
    """The checkpoint in a folder: a sharded one, or all files of whole parameters."""
    if folder.is_dir() and not list(folder.glob(f"*{INDEX_SUFFIX}")):
        files = sorted(str(file) for file in folder.glob("*.safetensors"))
        if files:
            return files
    return [str(folder)]


def _names(catalogue: ShardCatalogue, changed: Mapping[str, str]) -> dict[str, str]:
    """The names in the files by the names in the network."""
    unknown = [name for name in changed if name not in catalogue.names]
    if unknown:
        raise problem(
            ValueError, f"{_OWNER}: name_map has names that are not in the checkpoint",
            got=", ".join(unknown[:5]),
        )  # fmt: skip
    return {changed.get(name, name): name for name in catalogue.names}


def _check(parameter: Parameter, catalogue: ShardCatalogue, name: str, strict: bool) -> None:
    """Raise if the shape or the dtype in the files differs."""
    saved = np.broadcast_to(np.zeros((), catalogue.dtype(name)), catalogue.shape(name))
    check_fits(parameter, Tensor._wrap(saved), strict)


def _fill(parameter: Parameter, catalogue: ShardCatalogue, name: str) -> None:
    def read(region: Region) -> np.ndarray:
        return catalogue.read(name, region)

    parameter._replace(filled_like(parameter._data, read))


def _report_missing(own: Mapping[str, Any], names: Mapping[str, str], strict: bool) -> None:
    missing = [name for name in own if name not in names]
    if missing and strict:
        raise problem(
            ValueError,
            f"{_OWNER}: parameters of the network are not in the checkpoint",
            got=", ".join(missing[:5]),
            fix="leave strict_load out to load the others",
        )
    if missing:
        logger.warning(
            "%d parameters of the network are not in the checkpoint: %s",
            *(len(missing), ", ".join(missing[:5])),
        )


def _refuse(key: Any, target: Any, rank: Any) -> None:
    """Reject arguments that do not apply to sharded checkpoints."""
    if key is not None:
        raise problem(ValueError, f"{_OWNER}: sharded checkpoints cannot be encrypted")
    if target is not None:
        raise problem(
            ValueError,
            f"{_OWNER}: dst_safetensors_dir is not supported",
            got=f"dst_safetensors_dir={target!r}",
            fix="afterwards: save_checkpoint(network, name, integrated_save=False)",
        )
    if rank is not None and rank != world().rank:
        raise problem(
            ValueError,
            f"{_OWNER}: each process loads the shards of its own devices",
            got=f"rank_id={rank}",
            expected=f"{world().rank}, or leave it out",
        )
