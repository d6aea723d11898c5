"""Checkpoints: saving parameters to MindSpore's `.ckpt` or safetensors files, and loading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.files.encryption import decrypt, encrypt
from mycelia._engine.core.warn_once import logger
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train import ckpt_format, safetensors_format
from mycelia.train.background_writer import finish, raise_failed
from mycelia.train.distributed_checkpoint.gathered_save import save_whole
from mycelia.train.distributed_checkpoint.index import found_index, is_index
from mycelia.train.distributed_checkpoint.save import comes_in_parts, save_parts
from mycelia.train.distributed_checkpoint.whole_arrays import all_of, all_of_run

CKPT, SAFETENSORS = "ckpt", "safetensors"
RUN_ENTRY = "mycelia.run"  # the state of a training run, for which see run_state.py


@entry_point
def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str,
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: dict[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False,
    format: str = CKPT,
    **kwargs: Any,
) -> None:
    """Save the parameters of a Cell (or of a dict or list of parameters) to a file.

    `enc_key` encrypts it, `crc_check` adds a checksum, `format` may be "safetensors". With
    `async_save` (True, "thread", or "process"), a thread writes the file: it contains the values at
    the time of the call, even if parameters change meanwhile. If writing fails, the next step or
    save raises the error.

    Parameters whose shards are on several processes are gathered, so all processes must call this;
    the first one writes the file. Without `integrated_save`, nothing is gathered: each process
    writes the shards on its devices to `rank_<r>` in the folder of the file, and then
    `<name>.index.json`, the file to pass to `load_checkpoint`. Sharded checkpoints always have
    checksums, and cannot be encrypted. On a single device there is one shard, and the file is an
    ordinary checkpoint.
    """
    raise_failed()
    saved_file(
        save_obj, ckpt_file_name, integrated_save, async_save, append_dict, enc_key, enc_mode,
        choice_func, crc_check, format,
    )  # fmt: skip


def saved_file(
    save_obj: Any,
    ckpt_file_name: str,
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: dict[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False,
    format: str = CKPT,
) -> Path:
    """`save_checkpoint`; returns the file that this process writes last, to wait for it."""
    check_async_save("save_checkpoint", async_save)
    if not isinstance(crc_check, bool):
        raise wrong_value("save_checkpoint", "crc_check", crc_check, "a bool")
    check_bool("save_checkpoint", "integrated_save", integrated_save)
    if not isinstance(enc_mode, str) and not callable(enc_mode):
        raise wrong_value("save_checkpoint", "enc_mode", enc_mode, "a name or a function")
    path = _with_suffix(ckpt_file_name, _checked_format("save_checkpoint", format, enc_key))
    chosen = [
        (name, tensor)
        for name, tensor in _named_tensors(save_obj)
        if choice_func is None or choice_func(name)
    ]
    chosen += [(name, _as_tensor(value)) for name, value in (append_dict or {}).items()]
    if not integrated_save and comes_in_parts(chosen):
        _check_no_key("save_checkpoint", enc_key)
        own = [entry for entry in chosen if is_hidden(entry[0])]
        shared = [entry for entry in chosen if not is_hidden(entry[0])]
        return save_parts(shared, own, path, later=bool(async_save))
    content = partial(_content, format=format, key=enc_key, mode=enc_mode, check=crc_check)
    save_whole(path, chosen, content, later=bool(async_save))
    return path


@entry_point
def load_checkpoint(
    ckpt_file_name: str,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: Any = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Any = None,
    choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = CKPT,
) -> dict[str, Parameter]:
    """Load a checkpoint as a dict of parameters, and into `net` if one is passed.

    `filter_prefix` excludes names; `specify_prefix`, or else `choice_func`, selects names. For a
    sharded checkpoint, pass the index or its folder: the loaded parameters are whole.
    `remove_redundancy` says that each process saved different parameters; one process has all.
    """
    _checked_format("load_checkpoint", format, dec_key)
    path = found_index(Path(ckpt_file_name))
    error = finish(path)
    if error is not None:
        raise error
    if not path.exists():
        raise problem(
            ValueError,
            f"load_checkpoint: the file {path} does not exist",
            fix="check the path",
        )
    if choice_func is not None and not callable(choice_func):
        raise wrong_value("load_checkpoint", "choice_func", choice_func, "a function of names")
    skipped, wanted = (
        _prefixes("filter_prefix", filter_prefix),
        _prefixes("specify_prefix", specify_prefix),
    )
    loaded = {
        name: _parameter(name, array)
        for name, array in _read(path, format, dec_key, dec_mode, crc_check).items()
        if not is_hidden(name)
        and not (skipped and name.startswith(skipped))
        and (not wanted or name.startswith(wanted))
        and (wanted or choice_func is None or choice_func(name))
    }
    if not loaded:
        raise problem(ValueError, f"load_checkpoint: no parameter in {path} matches the filters")
    if net is not None:
        load_param_into_net(net, loaded, strict_load)
    return loaded


def read_whole(path: Path, key: bytes | None, mode: str) -> dict[str, Any]:
    """Arrays and strings by name, including hidden ones; raises if the checksum is wrong.

    A file without a checksum may contain parameters, but no run state.
    """
    if is_index(path):
        return all_of_run(path)
    format = SAFETENSORS if path.suffix == f".{SAFETENSORS}" else CKPT
    data = memoryview(path.read_bytes())
    contents = _decoded(path, data, format, key, mode, check=True)
    if format == SAFETENSORS:
        is_sealed = safetensors_format.has_checksum(data)
    else:
        is_sealed = ckpt_format.split_checksum(data)[1] is not None
    if not is_sealed and any(is_hidden(name) for name in contents):
        raise problem(ValueError, f"{path} is truncated: its checksum is missing")
    return contents


def is_hidden(name: str) -> bool:
    """Whether an entry belongs to the run state, and is not a parameter."""
    return name == RUN_ENTRY or name.startswith(f"{RUN_ENTRY}.")


@entry_point
def load_param_into_net(
    net: Cell,
    parameter_dict: dict[str, Parameter],
    strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Set the parameters of `net` by name; returns the names missing on either side.

    If no name matches unless a common prefix is removed, that prefix is removed, with a warning.
    """
    if not isinstance(net, Cell):
        raise wrong_type("load_param_into_net", "net", net, "Cell")
    if not isinstance(parameter_dict, dict):
        raise wrong_type("load_param_into_net", "parameter_dict", parameter_dict, "dict")
    own = {p.name: p for p in net.get_parameters()}
    prefix = _common_prefix(own, parameter_dict)
    saved = {name: parameter_dict.get(prefix + name) for name in own}
    for name, parameter in own.items():
        if saved[name] is not None:
            check_fits(parameter, saved[name], strict_load)
    for name, parameter in own.items():
        if saved[name] is not None:
            parameter.set_data(saved[name])
    not_loaded = [name for name in own if saved[name] is None]
    unused = [name for name in parameter_dict if name not in own]
    if not_loaded:
        logger.warning("%d parameters of the network are not in the checkpoint: %s",
                       len(not_loaded), ", ".join(not_loaded[:5]))  # fmt: skip
    return not_loaded, unused


def _common_prefix(own: Collection[str], saved: Collection[str]) -> str:
    """The prefix of the saved names, if the network was saved inside another cell."""
    if not own or any(name in saved for name in own):
        return ""
    prefixes = Counter(
        other.removesuffix(name) for name in own for other in saved if other.endswith(f".{name}")
    )
    if not prefixes:
        return ""
    prefix = prefixes.most_common(1)[0][0]
    logger.warning("the names in the checkpoint begin with %r, which is removed", prefix)
    return prefix


def check_fits(own: Parameter, saved: Any, strict: bool) -> None:
    """Raise if a saved tensor does not match a parameter's shape or dtype."""
    if not isinstance(saved, Tensor):
        raise wrong_type("load_param_into_net", own.name, saved, "Parameter")
    if own.shape != saved.shape:
        raise problem(
            RuntimeError,
            f"load_param_into_net: {own.name} differs in shape",
            got=f"shape {saved.shape} in the checkpoint",
            expected=f"shape {own.shape} in the network",
        )
    if own.dtype is not saved.dtype and (strict or own.dtype.is_float != saved.dtype.is_float):
        raise problem(
            RuntimeError,
            f"load_param_into_net: {own.name} differs in dtype",
            got=f"{saved.dtype} in the checkpoint",
            expected=f"{own.dtype} in the network",
        )


def _named_tensors(save_obj: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(save_obj, Cell):
        for parameter in save_obj.get_parameters():
            yield parameter.name, parameter
    elif isinstance(save_obj, dict):
        for name, value in save_obj.items():
            yield name, _as_tensor(value)
    elif isinstance(save_obj, list):
        for item in save_obj:
            if isinstance(item, Parameter):
                yield item.name, item
            else:
                yield item["name"], _as_tensor(item["data"])
    else:
        raise wrong_type("save_checkpoint", "save_obj", save_obj, "Cell, dict or list")


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, (Tensor, str)) else Tensor(value)


def _content(
    named: Sequence[tuple[str, Any]], format: str, key: bytes | None, mode: str, check: bool
) -> Iterator[bytes]:
    """The bytes of a file, in pieces."""
    if format == SAFETENSORS:
        yield from safetensors_format.encode(named, check)
        return
    pieces = ckpt_format.encode(named)
    if key is not None:
        pieces = iter([encrypt(b"".join(pieces), key, mode)])
    checksum = 0
    for piece in pieces:
        checksum = crc32(piece, checksum)
        yield piece
    if check:
        yield ckpt_format.checksum_bytes(checksum)


def _read(path: Path, format: str, key: bytes | None, mode: str, check: bool) -> dict[str, Any]:
    """Arrays and strings by name."""
    if is_index(path):
        _check_no_key("load_checkpoint", key)
        return all_of(path)
    if path.suffix == f".{SAFETENSORS}" and format != SAFETENSORS:
        raise problem(
            ValueError,
            "load_checkpoint: the file has a different format",
            got=f"{path} with format {format!r}",
            fix='load_checkpoint(..., format="safetensors")',
        )
    return _decoded(path, memoryview(path.read_bytes()), format, key, mode, check)


def _decoded(
    path: Path, data: memoryview, format: str, key: bytes | None, mode: str, check: bool
) -> dict[str, Any]:
    try:
        if format == SAFETENSORS:
            return safetensors_format.decode(data, check)
        content, checksum = ckpt_format.split_checksum(data)
        if check and checksum is not None and checksum != crc32(content):
            raise ValueError("its checksum does not match its content")
        if key is not None:
            return ckpt_format.decode(memoryview(decrypt(content, key, mode)))
        return ckpt_format.decode(content)
    except (ValueError, UnicodeDecodeError, TypeError) as error:
        raise problem(
            ValueError,
            f"load_checkpoint: {path} is damaged, encrypted, or not a checkpoint",
            got=str(error).splitlines()[0],
            fix="use an older checkpoint, save it again, or pass the right 'dec_key'",
        ) from None


def check_async_save(owner: str, value: Any) -> None:
    """Check the value of `async_save`."""
    if not isinstance(value, (bool, str)):
        raise wrong_type(owner, "async_save", value, "bool or str")
    if isinstance(value, str) and value not in ("process", "thread"):
        raise wrong_value(owner, "async_save", value, "True, False, 'process' or 'thread'")


def _checked_format(function: str, format: str, key: bytes | None) -> str:
    if format not in (CKPT, SAFETENSORS):
        raise wrong_value(function, "format", format, "'ckpt' or 'safetensors'")
    if key is not None and format == SAFETENSORS:
        raise problem(
            ValueError,
            f"{function}: a file of format 'safetensors' cannot be encrypted",
            fix="use format='ckpt', or no key",
        )
    return format


def _check_no_key(function: str, key: bytes | None) -> None:
    if key is not None:
        raise problem(
            ValueError,
            f"{function}: sharded checkpoints cannot be encrypted",
            fix="leave the key out, or save whole files: integrated_save=True",
        )


def _parameter(name: str, array: Any) -> Any:
    return array if isinstance(array, str) else Parameter(Tensor(array), name=name)


def _prefixes(argument: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(prefix, str) for prefix in listed):
        raise wrong_type("load_checkpoint", argument, value, "a str or a list of str")
    if not listed or (argument == "specify_prefix" and "" in listed):
        raise wrong_value("load_checkpoint", argument, value, "at least one prefix")
    return listed


def _with_suffix(name: str, suffix: str) -> Path:
    if not isinstance(name, str) or not name:
        raise wrong_value("save_checkpoint", "ckpt_file_name", name, "a path")
    return Path(name if name.endswith(f".{suffix}") else f"{name}.{suffix}")
