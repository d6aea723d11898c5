"""Lazy imports, which keep `import mycelia` fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mycelia._engine.core.tracebacks import mark_explained


class LazyModule:
    """A proxy for a module, which is imported when one of its attributes is first used.

    For a module of the framework, write the normal import next to it, for type checkers and for
    the check that imports point downward:

        if TYPE_CHECKING:
            from mycelia._engine.compiler.sharding import planning
        else:
            planning = LazyModule("mycelia._engine.compiler.sharding.planner")

    `prepare` is called with the module after the import.
    """

    def __init__(self, name: str, prepare: Callable[[Any], object] | None = None) -> None:
        self._name, self._prepare = name, prepare
        self._module: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_module" not in self.__dict__:
            raise AttributeError(name)  # copying and inspecting do not use the module
        if self._module is None:
            module = import_module(self._name)
            if self._prepare is not None:
                self._prepare(module)
            self._module = module
        return getattr(self._module, name)

    def __repr__(self) -> str:
        state = "imported on first use" if self._module is None else "imported"
        return f"<module {self._name!r}, {state}>"


def optional_module(name: str, prepare: Callable[[Any], object] | None = None) -> Any:
    """A module of an optional package: lazy if the package is installed, else None."""
    is_installed = find_spec(name.partition(".")[0]) is not None
    return LazyModule(name, prepare) if is_installed else None


def no_attribute(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that a module does not have, with the closest one that it has."""
    text = f"module {module!r} has no attribute {name!r}"
    is_special = name.startswith("__")
    close = [] if is_special else get_close_matches(name, known, n=1, cutoff=0.6)
    error = AttributeError(f"{text}; did you mean {close[0]!r}?" if close else text)
    mark_explained(error)
    return error


def suggesting(module: str) -> Callable[[str], Any]:
    """A `__getattr__` for a module without lazy names: it raises, with a suggestion."""

    def find(name: str) -> Any:
        raise no_attribute(module, name, vars(sys.modules[module]))

    return find


class LazyNames:
    """Names of a package that are imported when they are first used.

    The source of a name is None for a submodule of the package, "module" for that module, and
    "module:" for the attribute of the same name in it. The package defines

        _lazy = LazyNames(__name__, {"text": None, "utils": "package.viewing", "Model": "train:"})

        def __getattr__(name: str) -> Any:
            return _lazy.find(name)

        def __dir__() -> list[str]:
            return _lazy.listed()
    """

    def __init__(self, package: str, sources: Mapping[str, str | None]) -> None:
        self._package, self.sources = package, sources

    def find(self, name: str) -> Any:
        """The attribute `name` of the package, which is then set on the package."""
        if name not in self.sources:
            raise no_attribute(self._package, name, self.listed())
        module, is_inside, _ = (self.sources[name] or f"{self._package}.{name}").partition(":")
        found: Any = import_module(module)
        if is_inside:
            found = getattr(found, name)
        setattr(sys.modules[self._package], name, found)
        return found

    def listed(self) -> list[str]:
        """All names of the package, for `dir`."""
        package = sys.modules.get(self._package)
        return sorted({*(() if package is None else vars(package)), *self.sources})
