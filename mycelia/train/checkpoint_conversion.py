"""Converting checkpoints between `.ckpt` and safetensors, and loading in the background."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter
from mycelia.train.checkpoint import CKPT, SAFETENSORS, load_checkpoint, save_checkpoint


def ckpt_to_safetensors(
    file_path: str,
    save_path: str | None = None,
    name_map: dict[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Convert a `.ckpt` file, or those in the folders `rank*` of a folder, to safetensors.

    The new files are written next to the old ones, or to `save_path`. `name_map` renames
    parameters; in a folder, only files whose names match `file_name_regex` are converted,
    `processes_num` in parallel.
    """
    owner = "ckpt_to_safetensors"
    _convert(
        owner, CKPT, SAFETENSORS, file_path, save_path, name_map, file_name_regex, processes_num
    )


def safetensors_to_ckpt(
    file_path: str,
    save_path: str | None = None,
    name_map: dict[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Convert a safetensors file, or those in the folders `rank*` of a folder, to `.ckpt`.

    The arguments are those of `ckpt_to_safetensors`.
    """
    owner = "safetensors_to_ckpt"
    _convert(
        owner, SAFETENSORS, CKPT, file_path, save_path, name_map, file_name_regex, processes_num
    )


def load_checkpoint_async(
    ckpt_file_name: str,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: Any = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Any = None,
    choice_func: Callable[[str], bool] | None = None,
) -> Future[dict[str, Parameter]]:
    """Load a checkpoint in a thread; `result()` of the returned future waits for it."""
    reader = ThreadPoolExecutor(1, thread_name_prefix="load_checkpoint")
    future = reader.submit(
        load_checkpoint,
        ckpt_file_name,
        net,
        strict_load,
        filter_prefix,
        dec_key,
        dec_mode,
        specify_prefix,
        choice_func,
        format=SAFETENSORS if str(ckpt_file_name).endswith(f".{SAFETENSORS}") else CKPT,
    )
    reader.shutdown(wait=False)
    return future


def _convert(
    owner: str,
    old: str,
    new: str,
    file_path: str,
    save_path: str | None,
    name_map: dict[str, str] | None,
    file_name_regex: str | None,
    processes_num: int,
) -> None:
    source = _existing(owner, file_path)
    if name_map is not None and not isinstance(name_map, dict):
        raise wrong_value(owner, "name_map", name_map, "a dict of names")
    if save_path is not None and not isinstance(save_path, (str, Path)):
        raise wrong_type(owner, "save_path", save_path, "str")
    if source.is_file():
        files = [_of_format(owner, source, old, file_name_regex)]
        root = source.parent
    else:
        files, root = list(_files_of_ranks(owner, source, old, file_name_regex)), source
    target = root if save_path is None else Path(save_path)
    with ThreadPoolExecutor(max(processes_num, 1)) as workers:
        futures = [
            workers.submit(
                _write_as, file, (target / file.relative_to(root)).with_suffix(f".{new}"),
                old, new, name_map or {},
            )
            for file in files
        ]  # fmt: skip
        for future in futures:
            future.result()


def _write_as(file: Path, target: Path, old: str, new: str, names: Mapping[str, str]) -> None:
    loaded = load_checkpoint(str(file), format=old)
    target.parent.mkdir(parents=True, exist_ok=True)
    save_checkpoint(
        {names.get(n, n): value for n, value in loaded.items()}, str(target), format=new
    )


def _existing(owner: str, file_path: Any) -> Path:
    if not isinstance(file_path, (str, Path)) or not Path(file_path).exists():
        raise problem(ValueError, f"{owner}: no such file or folder", got=repr(file_path))
    return Path(file_path)


def _of_format(owner: str, file: Path, format: str, pattern: str | None) -> Path:
    if file.suffix != f".{format}":
        raise problem(
            ValueError, f"{owner}: the file has a different format", got=str(file),
            expected=f"a name that ends with .{format}",
        )  # fmt: skip
    if pattern is not None and not re.search(pattern, file.name):
        raise problem(
            ValueError,
            f"{owner}: the file name does not match file_name_regex",
            got=f"{file.name!r} and {pattern!r}",
        )
    return file


def _files_of_ranks(owner: str, folder: Path, format: str, pattern: str | None) -> Iterator[Path]:
    """The files of a format in the folders of all ranks."""
    ranks = sorted(path for path in folder.glob("rank*") if path.is_dir())
    if not ranks:
        raise problem(
            ValueError,
            f"{owner}: the folder has no subfolders rank*, one for each process",
            got=str(folder),
            fix="pass a file, or put the files into rank_0",
        )
    for rank in ranks:
        for file in sorted(rank.glob(f"*.{format}")):
            if pattern is None or re.search(pattern, file.name):
                yield file
