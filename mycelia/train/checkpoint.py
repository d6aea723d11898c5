"""Checkpoints: parameters in a file, in MindSpore's `.ckpt` layout, and back into a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mycelia.core.dtype import by_name
from mycelia.core.errors import problem, wrong_type, wrong_value
from mycelia.core.files import write_atomically
from mycelia.core.logs import logger
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train import wire

_SLICE = 512 * 1024 * 1024  # larger tensors are written in several pieces of the same name


def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str,
    integrated_save: bool = True,
    async_save: bool = False,
    append_dict: dict[str, Any] | None = None,
    choice_func: Callable[[str], bool] | None = None,
) -> None:
    """Write the parameters of a Cell (or of a dict or list of parameters) to a file."""
    path = _with_suffix(ckpt_file_name)
    chosen = [
        (name, tensor)
        for name, tensor in _named_tensors(save_obj)
        if choice_func is None or choice_func(name)
    ]
    chosen += [(name, _as_tensor(value)) for name, value in (append_dict or {}).items()]
    write_atomically(path, _encode(chosen))


def load_checkpoint(
    ckpt_file_name: str,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: Any = None,
    specify_prefix: Any = None,
    choice_func: Callable[[str], bool] | None = None,
) -> dict[str, Parameter]:
    """Read a checkpoint into a dict of parameters, and into `net` if one is given."""
    path = Path(ckpt_file_name)
    if not path.exists():
        raise problem(
            ValueError,
            f"The checkpoint file: {path} does not exist.",
            fix="check the path",
        )
    skipped, wanted = (
        _prefixes("filter_prefix", filter_prefix),
        _prefixes("specify_prefix", specify_prefix),
    )
    loaded = {
        name: _parameter(name, array)
        for name, array in _decode(path).items()
        if not (skipped and name.startswith(skipped))
        and (not wanted or name.startswith(wanted))
        and (choice_func is None or choice_func(name))
    }
    if not loaded:
        raise problem(ValueError, f"the checkpoint {path} holds no parameter that was asked for")
    if net is not None:
        load_param_into_net(net, loaded, strict_load)
    return loaded


def load_param_into_net(
    net: Cell, parameter_dict: dict[str, Parameter], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Set the parameters of `net` by name; gives the names not found on either side."""
    if not isinstance(net, Cell):
        raise wrong_type("load_param_into_net", "net", net, "Cell")
    if not isinstance(parameter_dict, dict):
        raise wrong_type("load_param_into_net", "parameter_dict", parameter_dict, "dict")
    own = {p.name: p for p in net.get_parameters()}
    for name, parameter in own.items():
        if name in parameter_dict:
            _check_fits(parameter, parameter_dict[name], strict_load)
    for name, parameter in own.items():
        if name in parameter_dict:
            parameter.set_data(parameter_dict[name])
    not_loaded = [name for name in own if name not in parameter_dict]
    unused = [name for name in parameter_dict if name not in own]
    if not_loaded:
        logger.warning("%d parameters of the network are not in the checkpoint: %s",
                       len(not_loaded), ", ".join(not_loaded[:5]))  # fmt: skip
    return not_loaded, unused


def _check_fits(own: Parameter, given: Any, strict: bool) -> None:
    if not isinstance(given, Tensor):
        raise wrong_type("load_param_into_net", own.name, given, "Parameter")
    if own.shape != given.shape:
        raise problem(
            RuntimeError,
            f"For 'load_param_into_net', {own.name} in the argument 'net' should have the same "
            f"shape as {own.name} in the argument 'parameter_dict'.",
            got=f"shape {given.shape} in the checkpoint",
            expected=f"shape {own.shape} in the network",
        )
    if own.dtype is not given.dtype and (strict or own.dtype.is_float != given.dtype.is_float):
        raise problem(
            RuntimeError,
            f"For 'load_param_into_net', the dtypes of {own.name} differ",
            got=f"{given.dtype} in the checkpoint",
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
            yield item["name"], _as_tensor(item["data"])
    else:
        raise wrong_type("save_checkpoint", "save_obj", save_obj, "Cell, dict or list")


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, (Tensor, str)) else Tensor(value)


def _encode(named: list[tuple[str, Any]]) -> Iterator[bytes]:
    for name, tensor in named:
        tag = wire.bytes_field(1, name.encode())
        for body in _tensor_bodies(tensor):
            inner = wire.bytes_header(2, len(body)) + body
            yield wire.bytes_header(1, len(tag) + len(inner)) + tag + inner


def _tensor_bodies(tensor: Any) -> Iterator[bytes]:
    if isinstance(tensor, str):
        content = tensor.encode("utf-32-le")
        yield wire.number_field(1, 0) + wire.bytes_field(2, b"str") + wire.bytes_field(3, content)
        return
    array = np.ascontiguousarray(np.asarray(tensor))
    head = b"".join(wire.number_field(1, n) for n in tensor.shape)
    head += wire.bytes_field(2, str(tensor.dtype).encode())
    content = array.tobytes()
    for start in range(0, max(len(content), 1), _SLICE):
        yield head + wire.bytes_field(3, content[start : start + _SLICE])


def _decode(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    parts: dict[str, tuple[list[int], str, list[memoryview]]] = {}
    try:
        for field, value in wire.fields(memoryview(data)):
            if field == 1 and isinstance(value, memoryview):
                name, dims, kind, content = _decode_value(value)
                parts.setdefault(name, (dims, kind, []))[2].append(content)
        return {name: _to_array(*part) for name, part in parts.items()}
    except (ValueError, UnicodeDecodeError, TypeError) as error:
        raise problem(
            ValueError,
            f"Failed to read the checkpoint file {path}: it is damaged or no checkpoint",
            got=str(error).splitlines()[0],
            fix="use an older checkpoint, or save it again",
        ) from None


def _decode_value(data: memoryview) -> tuple[str, list[int], str, memoryview]:
    name, dims, kind, content = "", [], "", memoryview(b"")
    for field, value in wire.fields(data):
        if field == 1 and isinstance(value, memoryview):
            name = bytes(value).decode()
        elif field == 2 and isinstance(value, memoryview):
            for inner, part in wire.fields(value):
                if inner == 1:
                    dims += [part] if isinstance(part, int) else _packed(part)
                elif inner == 2 and isinstance(part, memoryview):
                    kind = bytes(part).decode()
                elif inner == 3 and isinstance(part, memoryview):
                    content = part
    return name, dims, kind, content


def _packed(data: memoryview) -> list[int]:
    """Numbers written one after the other in one field, as newer writers do."""
    return [n for _, n in wire.fields(memoryview(b"".join(_keyed(data)))) if isinstance(n, int)]


def _keyed(data: memoryview) -> Iterator[bytes]:
    number = bytearray()
    for byte in data:
        number.append(byte)
        if byte < 0x80:
            yield b"\x08" + bytes(number)
            number.clear()


def _to_array(dims: list[int], kind: str, pieces: list[memoryview]) -> Any:
    content = b"".join(pieces)
    if kind == "str":
        return content.decode("utf-32-le")
    array = np.frombuffer(content, by_name(kind).numpy)
    return array.reshape(dims)


def _parameter(name: str, array: Any) -> Any:
    return array if isinstance(array, str) else Parameter(Tensor(array), name=name)


def _prefixes(argument: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = (value,) if isinstance(value, str) else tuple(value)
    if not listed or not all(isinstance(p, str) for p in listed):
        raise wrong_value("load_checkpoint", argument, value, "a str or a list of str")
    return listed


def _with_suffix(name: str) -> Path:
    if not isinstance(name, str) or not name:
        raise wrong_value("save_checkpoint", "ckpt_file_name", name, "a path")
    return Path(name if name.endswith(".ckpt") else name + ".ckpt")
