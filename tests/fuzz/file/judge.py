"""What reading changed files may come to: the content that was written, or a clear error."""

from __future__ import annotations

import os
import re
import resource
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mycelia._engine.core.tracebacks import is_explained
from mycelia.mindrecord.exceptions import MindRecordException
from tests.fuzz.file import edits
from tests.fuzz.file.format import Format

MEMORY = 1 << 29  # bytes that reading a small file may take
_ROOT = Path(__file__).parents[3] / "mycelia"
_TYPES = (ValueError, RuntimeError, TypeError, NotImplementedError)
_INTERNAL = re.compile(
    r"\b(?:Key|Index|Attribute|Assertion|Recursion|Memory|Overflow|ZeroDivision|UnicodeDecode|Name|"
    r"UnboundLocal|Lookup|Syntax)Error|struct\.error|NoneType|Unable to allocate|BadZipFile|XmlError"
)
_FORBIDDEN = {"pickle.find_class", "os.system", "subprocess.Popen"}
_CHANGING = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod"}
_HERE = b"@FOLDER@"  # stands for the folder in files that name others
_NEIGHBOUR = "outside"  # a file that texts of changes name


@dataclass
class _Watch:
    """What the process does while a file is read."""

    folder: Path | None = None
    names_files: bool = False
    is_trusted: bool = False  # compiled programs are code, which a right checksum vouches for
    found: str = ""


_watch = _Watch()


def verdict(format_: Format, file: int, changes: list[edits.Edit], reseal: bool) -> str:
    """What is wrong about reading files of a format, one of which is changed; or nothing."""
    pristine = _pristine(format_)
    name = sorted(pristine)[file % len(pristine)]
    data = pristine[name]
    for change in changes:
        data = edits.apply(change, data)
    if reseal and format_.reseal is not None:
        data = format_.reseal(data)
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above).resolve() / "files" / "here"
        for other, content in pristine.items():
            changed = data if other == name else content
            put(folder / other, changed.replace(_HERE, bytes(folder)))
        put(folder.parent / _NEIGHBOUR, b"not to be read")
        is_sealed = format_.sealed and not reseal
        return _told(format_, folder, is_sealed, data == pristine[name])


def put(path: Path, data: bytes) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _told(format_: Format, folder: Path, is_sealed: bool, is_unchanged: bool) -> str:
    try:
        with _watched(folder, format_.lists_files, is_unchanged), _little_memory():
            found = format_.read(folder)
    except Exception as error:
        wrong = _wrong_error(error)
        if is_unchanged and not wrong:
            wrong = f"files as they were written are refused\n{error}"
        if wrong and not wrong.startswith(_watch.found or "\0"):
            wrong += "\n" + "".join(traceback.format_exception(error))
        return _watch.found or wrong
    if _watch.found:
        return _watch.found
    if (is_sealed or is_unchanged) and found is not None:
        right = _content(format_)
        if format_.by_rows and not is_unchanged:  # a file that ends between two rows is whole
            right = [row for row in found if row in right]
        if found != right:
            shown = f"got:      {found!r:.600}\nexpected: {right!r:.600}"
            return f"another content is read silently\n{shown}"
    return ""


def _wrong_error(error: Exception) -> str:
    """What is wrong about an error."""
    kind = type(error)
    where = _innermost(error)
    is_documented = kind in _TYPES or isinstance(error, (OSError, MindRecordException))
    if not is_documented:
        return f"{kind.__name__} escapes from {where}"
    is_clear = isinstance(error, MindRecordException) or getattr(error, "filename", None)
    if not is_clear and not is_explained(error):
        return f"{kind.__name__} without an explanation from {where}"
    text = str(error)
    if not text.splitlines()[0].strip():
        return f"an empty message from {where}"
    inside = _INTERNAL.search(text)
    if inside:
        return f"{inside[0]} in the message of an error from {where}"
    return ""


def _innermost(error: BaseException) -> str:
    """The innermost function of ours that an error, or what caused it, came through."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(_ROOT)] or frames
    last = own[-1]
    path = Path(last.filename)
    name = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path.name
    return f"{name} in {last.name}"


# ---- what is written and read -------------------------------------------------------------------


@cache
def _pristine(format_: Format) -> dict[str, bytes]:
    """The files of a format as they are written, by name."""
    with tempfile.TemporaryDirectory() as folder:
        format_.write(Path(folder))
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        return {
            str(file.relative_to(folder)): file.read_bytes().replace(folder.encode(), _HERE)
            for file in files
        }


@cache
def _content(format_: Format) -> Any:
    """What is read from the files of a format as they are written."""
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / "files"
        for file, data in _pristine(format_).items():
            put(folder / file, data.replace(_HERE, bytes(folder)))
        return format_.read(folder)


# ---- what the process may do --------------------------------------------------------------------


@contextmanager
def _watched(folder: Path, names_files: bool, is_trusted: bool) -> Iterator[None]:
    _install()
    _watch.folder, _watch.names_files, _watch.found = folder, names_files, ""
    _watch.is_trusted = is_trusted
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _watch.folder = None


@cache
def _install() -> None:
    sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    folder = _watch.folder
    if folder is None or _watch.found:
        return
    if event in _FORBIDDEN and not _watch.is_trusted:
        _watch.found = f"reading a file leads to {event}"
    elif event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
        _hear_open(folder, Path(os.fsdecode(args[0])), args[2])
    elif event in _CHANGING and isinstance(args[0], (str, bytes, os.PathLike)):
        _hear_open(folder, Path(os.fsdecode(args[0])), os.O_WRONLY)


def _hear_open(folder: Path, path: Path, flags: int) -> None:
    full = Path(os.path.abspath(path))
    writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    is_system = full.is_relative_to("/dev") or full.is_relative_to("/proc")
    if full.is_relative_to(folder) or is_system:
        return
    if writes:
        _watch.found = "reading a file writes outside of its folder"
    elif full.name == _NEIGHBOUR and not _watch.names_files:
        _watch.found = "a name in a file leads outside of its folder"


@contextmanager
def _little_memory() -> Iterator[None]:
    """Let the process reserve only so much more memory; what it uses at most is a fault, too.

    Memory that the process had reserved before counts only when it is used.
    """
    limit, status = resource.getrlimit(resource.RLIMIT_AS), Path("/proc/self/status")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _kilobytes(status, "VmRSS")
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2 * MEMORY, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
        if (_kilobytes(status, "VmHWM") - before) * 1024 > MEMORY:
            _watch.found = _watch.found or f"reading takes more than {MEMORY >> 20} MB"


def _kilobytes(status: Path, name: str) -> int:
    return int(status.read_text().split(f"{name}:")[1].split()[0])
