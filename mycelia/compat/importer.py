"""Import hook: `mindspore.*` becomes alias modules that look up names in Mycelia."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from mycelia.compat.modules import (
    HIDING_MODULES,
    OURS,
    ROOT,
    is_internal,
    is_module,
    known_paths,
    public_paths,
    targets,
)

VERSION = "2.10.0"  # of the supported API
_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


class MissingName:
    """Placeholder of a missing name: calling it, subclassing it, or reading attributes raises."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImportError(self._text)

    __call__ = __mro_entries__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __instancecheck__ = __subclasscheck__ = __enter__ = __exit__ = __bool__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._text}\n  so it has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{self._text.splitlines()[0]}>"


class Alias(ModuleType):
    """Module with a MindSpore path that forwards names to Mycelia modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            return self._special(name)
        below = f"{self.__name__}.{name}"
        if below in HIDING_MODULES:
            return import_module(below)
        for target in targets(self.__name__):
            try:
                found = getattr(import_module(target), name)
            except AttributeError:
                continue
            if not _is_ours(found):
                return found
            same = ROOT + found.__name__.removeprefix(OURS)
            if below not in known_paths() and same in public_paths():
                return import_module(same)  # as `train.serialization.context`
        if below in known_paths() and is_module(below):
            return import_module(below)
        return self._missing(name, sys._getframe(1))

    def __setattr__(self, name: str, value: Any) -> None:
        """Ignore submodules that would hide an object of the same name: `common.mutable`."""
        if isinstance(value, Alias) and self._has_object(name):
            return
        super().__setattr__(name, value)

    def _has_object(self, name: str) -> bool:
        if f"{self.__name__}.{name}" in HIDING_MODULES:
            return False
        found = [getattr(import_module(target), name, None) for target in targets(self.__name__)]
        return any(one is not None and not isinstance(one, ModuleType) for one in found)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *public_names(self.__name__)})

    def _special(self, name: str) -> Any:
        if name == "__all__":
            return list(public_names(self.__name__))
        if name == "__version__" and self.__name__ == ROOT:
            return VERSION
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def _missing(self, name: str, frame: FrameType) -> Any:
        """Raise the error for a missing name, or return a placeholder.

        Attribute access raises an AttributeError, and an `import` of a public name an ImportError.
        An `import` of an internal name returns a placeholder that fails on use, unless the script
        handles ImportErrors.
        """
        path = f"{self.__name__}.{name}"
        text = "\n  ".join([f"{path}: Mycelia does not have this name", *nearest(*_split(path))])
        if frame.f_code.co_code[frame.f_lasti] != _IMPORT_FROM:
            raise AttributeError(text)
        is_inner = name.startswith("_") or is_internal(self.__name__)
        if is_inner and not _handles_errors(frame):
            return MissingName(text)
        raise ImportError(text)


def _is_ours(value: Any) -> bool:
    """Whether a value is a Mycelia module, which users know by another path."""
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == OURS


def _importing_frame() -> FrameType:
    """Frame that executes the `import`."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame


def _handles_errors(frame: FrameType) -> bool:
    """Whether the current line is inside a `try` with an `except`."""
    code, place = frame.f_code, frame.f_lasti
    return any(
        entry.start <= place < entry.end and _catches(code, entry.target)
        for entry in dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    )


def _catches(code: CodeType, handler: int) -> bool:
    """Whether a handler belongs to an `except`, not to a `with` or `finally`."""
    for instruction in dis.get_instructions(code):
        if instruction.offset >= handler:
            if instruction.opname in ("CHECK_EXC_MATCH", "POP_EXCEPT"):
                return True
            if instruction.opname in ("WITH_EXCEPT_START", "RERAISE"):
                return False
    return False


def _split(path: str) -> tuple[str, str]:
    module, _, name = path.rpartition(".")
    return module, name


class Absent(Alias, MissingName):
    """Placeholder for a path that may be a module or a name, and that Mycelia lacks."""

    def __init__(self, name: str, doc: str) -> None:
        Alias.__init__(self, name, doc)
        MissingName.__init__(self, f"{name}: Mycelia does not have this name")


class Finder(MetaPathFinder, Loader):
    """Finds and creates the modules below `mindspore`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        is_unknown = fullname not in known_paths()
        if not is_module(fullname) or (is_unknown and _handles_errors(_importing_frame())):
            raise ModuleNotFoundError(_no_module(fullname), name=fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        served = f"served by {', '.join(targets(spec.name))}" if targets(spec.name) else "absent"
        kind = Alias if spec.name in known_paths() else Absent
        return kind(spec.name, f"{spec.name}, {served}")

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up on access."""


_FINDER = Finder()


def install() -> None:
    """Make `import mindspore` import Mycelia, even if the real MindSpore is installed."""
    if _FINDER in sys.meta_path:
        return
    found = sys.modules.get(ROOT)
    if found is not None and not isinstance(found, Alias):
        raise ImportError(
            "the real mindspore is already imported\n"
            "  fix:      import mycelia.compat.mindspore before it, or use `mycelia run script.py`"
        )
    sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Remove the alias; modules already imported through it remain usable."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in [n for n, module in sys.modules.items() if isinstance(module, Alias)]:
        del sys.modules[name]


@cache
def public_names(path: str) -> tuple[str, ...]:
    """Names that a path serves."""
    found: set[str] = set()
    for target in targets(path):
        module = import_module(target)
        found |= {name for name in dir(module) if _is_public(path, name, getattr(module, name))}
    return tuple(sorted(found))


def _is_public(path: str, name: str, value: Any) -> bool:
    if isinstance(value, ModuleType):
        return bool(targets(f"{path}.{name}"))
    return not name.startswith("_")


def nearest(path: str, name: str) -> list[str]:
    """Suggestion line with Mycelia's names that are most similar to a missing one."""
    close = get_close_matches(name, public_names(path), n=3, cutoff=0.6)
    return [f"closest:  {', '.join(f'{path}.{one}' for one in close)}"] if close else []


def _no_module(fullname: str) -> str:
    served = [path for path in known_paths() if targets(path)]
    close = get_close_matches(fullname, served, n=3, cutoff=0.6)
    text = f"No module named {fullname!r} in Mycelia"
    return text + (f"\n  closest:  {', '.join(close)}" if close else "")
