"""The import hook: `mindspore.*` becomes modules that ask ours for every name."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from mycelia.compat.modules import ROOT, known_paths, targets

VERSION = "2.10.0"  # of the interface that is served
_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


class Alias(ModuleType):
    """A module of MindSpore's path, whose names are those of some modules of ours."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            return self._special(name)
        below = f"{self.__name__}.{name}"
        for target in targets(self.__name__):
            try:
                found = getattr(import_module(target), name)
            except AttributeError:
                continue
            if not isinstance(found, ModuleType):
                return found
        if targets(below):
            return import_module(below)
        raise self._missing(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *public_names(self.__name__)})

    def _special(self, name: str) -> Any:
        if name == "__all__":
            return list(public_names(self.__name__))
        if name == "__version__" and self.__name__ == ROOT:
            return VERSION
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def _missing(self, name: str) -> Exception:
        """What to raise in the frame that asked: an `import` gets an ImportError."""
        frame = sys._getframe(2)
        is_import = frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM
        kind = ImportError if is_import else AttributeError
        text = f"{self.__name__}.{name}: Mycelia does not have this name"
        return kind("\n  ".join([text, *nearest(self.__name__, name)]))


class Finder(MetaPathFinder, Loader):
    """Finds and makes the modules below `mindspore`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        if targets(fullname):
            return ModuleSpec(fullname, self, is_package=True)
        raise ModuleNotFoundError(_no_module(fullname), name=fullname)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Alias(spec.name, f"{spec.name}, served by {', '.join(targets(spec.name))}")

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: names are looked up when they are asked for."""


_FINDER = Finder()


def install() -> None:
    """From here on, `import mindspore` gives Mycelia, even if the real one is installed."""
    if _FINDER in sys.meta_path:
        return
    found = sys.modules.get(ROOT)
    if found is not None and not isinstance(found, Alias):
        raise ImportError(
            "the real mindspore is imported already\n"
            "  fix:      import mycelia.compat.mindspore before it, or use `mycelia run script.py`"
        )
    sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Take the alias back; modules that were imported through it stay with their users."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in [n for n, module in sys.modules.items() if isinstance(module, Alias)]:
        del sys.modules[name]


@cache
def public_names(path: str) -> tuple[str, ...]:
    """The names that a path serves."""
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
    """A line with the names of ours that look most like one we do not have."""
    close = get_close_matches(name, public_names(path), n=3, cutoff=0.6)
    return [f"closest:  {', '.join(f'{path}.{one}' for one in close)}"] if close else []


def _no_module(fullname: str) -> str:
    served = [path for path in known_paths() if targets(path)]
    close = get_close_matches(fullname, served, n=3, cutoff=0.6)
    text = f"No module named {fullname!r} in Mycelia"
    return text + (f"\n  closest:  {', '.join(close)}" if close else "")
