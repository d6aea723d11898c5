"""Exporting a network into a file and loading it: `export` and `load`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mycelia.compiler.forms import Items
from mycelia.compiler.symbolic import ValueNeeded
from mycelia.core.errors import problem, wrong_type
from mycelia.core.files import write_atomically
from mycelia.export.checking import check_types
from mycelia.export.model import Model, facts_of, model_from, model_of
from mycelia.ir.file import guarded, pack, unpack
from mycelia.ops.vocabulary import vocabulary
from mycelia.transforms.looking import in_pieces, read_for

SUFFIX = ".mindir"
FORMATS = ("AIR", "ONNX", "MINDIR")


def export(
    net: Callable[..., Any],
    *inputs: Any,
    file_name: str,
    file_format: str = "MINDIR",
    **kwargs: Any,
) -> None:
    """Write a Cell or function, read for inputs like these, into `file_name` (`.mindir`).

    The file holds the graphs, the parameters and what the program writes. Its layout is our own,
    not the protobuf of the real MindSpore. Numbers among the inputs stay inputs, unless the program
    depends on them.
    """
    _check_format(file_format)
    _check_options("export", kwargs)
    if not isinstance(file_name, (str, Path)) or not str(file_name):
        raise wrong_type("export", "file_name", file_name, "the name of a file")
    try:
        found = read_for(net, inputs)
    except ValueNeeded as needed:
        raise in_pieces("export", needed) from None
    assert isinstance(found.arguments, Items)
    positional = found.arguments.forms[0]
    assert isinstance(positional, Items)
    model = model_of(found.read.plain, positional, found.read.result)
    path = str(file_name)
    path = path if path.endswith(SUFFIX) else path + SUFFIX
    write_atomically(path, pack(model.graph, facts_of(model), vocabulary()))


def load(file_name: str, **kwargs: Any) -> Model:
    """The program in a file that `export` wrote; `nn.GraphCell` runs it.

    Nothing in the file is executed. The file is checked first: its checksum, its version, its
    operators, and the type of every node.
    """
    _check_options("load", kwargs)
    if not isinstance(file_name, (str, Path)) or not str(file_name).endswith(SUFFIX):
        raise problem(
            ValueError,
            "For 'load', the argument 'file_name' should end with '.mindir'",
            got=repr(file_name),
        )
    path = Path(file_name)
    if not path.is_file():
        raise problem(ValueError, f"For 'load', there is no file {path}", fix="check the path")
    graph, facts = unpack(path.read_bytes(), vocabulary())
    guarded(lambda: check_types(graph))
    return guarded(lambda: model_from(graph, facts))


def _check_format(file_format: Any) -> None:
    if file_format not in FORMATS:
        raise problem(
            ValueError,
            f"For 'export', 'file_format' must be one of {list(FORMATS)}, but got {file_format}.",
        )
    if file_format != "MINDIR":
        raise problem(
            ValueError,
            f"export: the format {file_format} is not there yet",
            expected="MINDIR",
            fix="pass file_format='MINDIR'; ONNX is planned, AIR is for Ascend devices only",
        )


def _check_options(owner: str, options: dict[str, Any]) -> None:
    """Encryption, datasets in files and the like are refused, not left out silently."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise problem(
            ValueError,
            f"{owner}: the option {given[0]} is not supported",
            fix="leave it out",
        )
