"""`export` a network to a file, and `load` it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.value_structure import SequenceStructure
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.files.encryption import decrypt, encrypt
from mycelia._engine.ir.serialization import guarded, pack, unpack
from mycelia._engine.operators.serializable import vocabulary
from mycelia.export.model import ExportedModel, facts_of, model_from, model_of
from mycelia.export.type_check import check_types
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.show import graph_break_error, trace_for

SUFFIX = ".mindir"
FORMATS = ("AIR", "ONNX", "MINDIR")


def export(
    net: Callable[..., Any],
    *inputs: Any,
    file_name: str,
    file_format: str = "MINDIR",
    **kwargs: Any,
) -> None:
    """Export a Cell or function, traced for these inputs, to `file_name` (`.mindir`).

    The file contains the graphs, the parameters, and the program's writes. Its format is specific
    to Mycelia, not MindSpore's protobuf. Numbers among the inputs remain inputs, unless the
    program depends on their values.
    """
    _check_format(file_format)
    seals = _encryption("export", kwargs, "enc")
    _check_options("export", kwargs)
    if not isinstance(file_name, (str, Path)) or not str(file_name):
        raise wrong_type("export", "file_name", file_name, "the name of a file")
    try:
        traced = trace_for(net, tuple(map(_as_input, inputs)))
    except GraphBreak as needed:
        raise graph_break_error("export", needed) from None
    assert isinstance(traced.arguments, SequenceStructure)
    positional = traced.arguments.forms[0]
    assert isinstance(positional, SequenceStructure)
    model = model_of(traced.read.plain, positional, traced.read.result)
    path = str(file_name)
    path = path if path.endswith(SUFFIX) else path + SUFFIX
    content = pack(model.graph, facts_of(model), vocabulary())
    write_atomically(path, content if seals is None else [_sealed(b"".join(content), *seals)])


def load(file_name: str, **kwargs: Any) -> ExportedModel:
    """Load a program that `export` wrote; `nn.GraphCell` runs it.

    Nothing in the file is executed. The file is validated first: its checksum, its version, its
    operators, and the type of every node. `dec_key` and `dec_mode` decrypt an encrypted file.
    """
    seals = _encryption("load", kwargs, "dec")
    _check_options("load", kwargs)
    if not isinstance(file_name, (str, Path)) or not str(file_name).endswith(SUFFIX):
        raise problem(
            ValueError,
            "For 'load', the argument 'file_name' should end with '.mindir'",
            got=repr(file_name),
        )
    path = Path(file_name)
    if not path.is_file():
        raise problem(
            ValueError, f"For 'load', the file {path} does not exist", fix="check the path"
        )
    content = path.read_bytes() if seals is None else _opened(path, *seals)
    graph, facts = unpack(content, vocabulary())
    guarded(lambda: check_types(graph))
    result: ExportedModel = guarded(lambda: model_from(graph, facts))
    return result


def _as_input(value: Any) -> Any:
    """Treat a parameter that is passed as an input as an input, not as state of the network."""
    return Tensor._wrap(value._data) if isinstance(value, Parameter) else value


def _encryption(owner: str, options: dict[str, Any], prefix: str) -> tuple[bytes, Any] | None:
    """The key and the mode of encryption from the options, or None without a key."""
    key, mode = options.pop(f"{prefix}_key", None), options.pop(f"{prefix}_mode", "AES-GCM")
    if key is None:
        return None
    if not isinstance(key, bytes):
        raise wrong_value(owner, f"{prefix}_key", key, "bytes")
    return key, mode


def _sealed(content: bytes, key: bytes, mode: Any) -> bytes:
    """Encrypt bytes; `mode` may be a function of the bytes and the key."""
    return mode(content, key) if callable(mode) else encrypt(content, key, mode, "export")


def _opened(path: Path, key: bytes, mode: Any) -> bytes:
    if callable(mode):
        result: bytes = mode(str(path), key)
        return result
    try:
        return decrypt(memoryview(path.read_bytes()), key, mode, "load")
    except ValueError as error:
        raise problem(
            RuntimeError,
            f"load: {path} cannot be decrypted",
            got=str(error).splitlines()[0],
            fix="check dec_key and dec_mode",
        ) from None


def _check_format(file_format: Any) -> None:
    if file_format not in FORMATS:
        raise problem(
            ValueError,
            f"For 'export', 'file_format' must be one of {list(FORMATS)}, but got {file_format}.",
        )
    if file_format != "MINDIR":
        raise problem(
            ValueError,
            f"export: the format {file_format} is not supported yet",
            expected="MINDIR",
            fix="pass file_format='MINDIR'; ONNX is planned, AIR is for Ascend devices only",
        )


def _check_options(owner: str, options: dict[str, Any]) -> None:
    """Reject options such as datasets, instead of ignoring them."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise problem(
            ValueError,
            f"{owner}: the option {given[0]} is not supported",
            fix="leave it out",
        )
