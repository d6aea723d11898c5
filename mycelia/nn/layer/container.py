"""Containers of cells: sequences, lists, and dicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell


class _CellSequence(Cell):
    """Cells with the names '0', '1', ...: the base of SequentialCell and CellList."""

    def _fill(self, cells: Iterable[Any]) -> None:
        """Replace the content by `cells`, each named by its index."""
        self._clear()
        for index, cell in enumerate(cells):
            self._put(str(index), cell)

    def _clear(self) -> None:
        for name in list(self._cells):
            object.__delattr__(self, name)
        self._cells.clear()

    def _put(self, name: str, cell: Any) -> None:
        if not isinstance(cell, Cell):
            raise wrong_type(type(self).__name__, "cell", cell, "Cell")
        if self._auto_prefix:
            cell.update_parameters_name(name + ".")
        self._cells[name] = cell
        object.__setattr__(self, name, cell)

    def _index(self, index: int) -> int:
        if not isinstance(index, int) or isinstance(index, bool):
            raise wrong_type(type(self).__name__, "index", index, "int or slice")
        if not -len(self) <= index < len(self):
            raise problem(
                IndexError,
                f"{type(self).__name__}: index {index} is out of range",
                got=f"{len(self)} cells",
            )
        return index % len(self)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._cells.values()))

    def __getitem__(self, index: Any) -> Any:
        cells = list(self._cells.values())
        if isinstance(index, slice):
            return self._slice(index)
        return cells[self._index(index)]

    def _slice(self, index: slice) -> Any:
        """The cells of a slice in a container of the same type, with their names unchanged."""
        selected = type(self)()
        for name, cell in list(self._cells.items())[index]:
            selected._cells[name] = cell
            object.__setattr__(selected, name, cell)
        return selected

    def __setitem__(self, index: int, cell: Any) -> None:
        name = list(self._cells)[self._index(index)]
        self._put(name, cell)

    def __delitem__(self, index: Any) -> None:
        cells = list(self._cells.values())
        del cells[index if isinstance(index, slice) else self._index(index)]
        self._fill(cells)

    def append(self, cell: Any) -> Self:
        """Append one cell."""
        self._put(str(len(self)), cell)
        return self

    def insert(self, index: int, cell: Any) -> None:
        """Insert one cell before `index`."""
        cells = list(self._cells.values())
        cells.insert(index, cell)
        self._fill(cells)

    def __iadd__(self, cells: Any) -> Self:
        if not isinstance(cells, (list, CellList)):
            raise wrong_type(type(self).__name__, "cells", cells, "a list or a CellList")
        return self.extend(cells)

    def extend(self, cells: Iterable[Any]) -> Self:
        """Append all `cells`."""
        for cell in cells:
            self.append(cell)
        return self


class SequentialCell(_CellSequence):
    """Runs cells in sequence, each on the result of the previous one."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, cell in args[0].items():
                self._put(name, cell)
        elif len(args) == 1 and isinstance(args[0], (list, tuple)):
            self._fill(args[0])
        else:
            self._fill(args)

    def construct(self, input_data: Any) -> Any:
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data


class CellList(_CellSequence):
    """A list of cells; it cannot be called."""

    is_ensemble = True  # `vmap` runs the cells in parallel

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)):
            self._fill(args[0])
        else:
            self._fill(args)

    def construct(self, *inputs: Any) -> Any:
        raise problem(
            AttributeError,
            "CellList cannot be called",
            fix="loop over it in your construct, or use SequentialCell",
        )


class CellDict(Cell):
    """A dict of cells; it cannot be called."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        if args:
            self.update(args[0])

    def __getitem__(self, key: str) -> Any:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Any) -> None:
        if not isinstance(key, str):
            raise wrong_type("CellDict", "key", key, "str")
        if not key or "." in key:
            raise problem(
                KeyError, "CellDict: keys must be non-empty and contain no dots", got=repr(key)
            )
        if not isinstance(cell, Cell):
            raise wrong_type("CellDict", "cell", cell, "Cell")
        if key not in self._cells and hasattr(self, key):
            raise problem(KeyError, f"CellDict: the name {key!r} is already an attribute")
        if self._auto_prefix:
            cell.update_parameters_name(key + ".")
        self._cells[key] = cell
        object.__setattr__(self, key, cell)

    def __delitem__(self, key: str) -> None:
        del self._cells[key]
        object.__delattr__(self, key)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: str) -> bool:
        return key in self._cells

    def keys(self) -> Any:
        return self._cells.keys()

    def values(self) -> Any:
        return self._cells.values()

    def items(self) -> Any:
        return self._cells.items()

    def update(self, cells: Any) -> None:
        """Add all items of a mapping, or a list of pairs."""
        if isinstance(cells, _CellSequence):
            raise wrong_type("CellDict", "cells", cells, "a dict, a CellDict or a list of pairs")
        pairs = cells.items() if isinstance(cells, (Mapping, CellDict, OrderedDict)) else cells
        for key, cell in pairs:
            self[key] = cell

    def pop(self, key: str) -> Any:
        cell = self._cells[key]
        del self[key]
        return cell

    def clear(self) -> None:
        for key in list(self._cells):
            del self[key]

    def construct(self, *inputs: Any) -> Any:
        raise problem(AttributeError, "CellDict cannot be called")
