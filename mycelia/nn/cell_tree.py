"""CellTree: traversal of sub-cells, and the names of their parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from mycelia._engine.core.checks import check_non_negative_int
from mycelia._engine.core.errors import problem
from mycelia.tensor.parameter import Parameter


class CellTree:
    """The parameters and sub-cells of a Cell."""

    _params: OrderedDict[str, Any]
    _cells: OrderedDict[str, Any]
    _buffers: dict[str, bool]  # whether each buffer is persistent, by name
    _param_prefix: str

    def cells(self) -> Any:
        """The direct sub-cells."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Any]:
        """The direct sub-cells by name, without duplicates."""
        found: OrderedDict[str, Any] = OrderedDict()
        seen: set[int] = set()
        for name, cell in self._cells.items():
            if cell is not None and id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    def cells_and_names(
        self, cells: set[Any] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """This cell and all sub-cells, without duplicates, with dotted names; parents first."""
        seen = set() if cells is None else cells
        if self in seen:
            return
        seen.add(self)
        yield name_prefix, self
        for name, cell in self._cells.items():
            if cell is not None:
                inner = f"{name_prefix}.{name}" if name_prefix else name
                yield from cell.cells_and_names(seen, inner)

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters, without duplicates, with their dotted attribute paths."""
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        seen: set[int] = set()
        for path, cell in cells:
            for name, parameter in cell._params.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{path}.{name}" if path else name), parameter

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that an optimizer should update."""
        return [p for p in self.get_parameters(expand=recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        return [p for p in self.get_parameters(expand=recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """The parameters by their `name`."""
        return OrderedDict((p.name, p) for p in self.get_parameters(expand=recurse))

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Rename every parameter to `prefix` and its attribute path."""
        if not isinstance(prefix, str):
            raise problem(TypeError, "the prefix must be a str", got=type(prefix).__name__)
        for path, parameter in list(self.parameters_and_names(expand=recurse)):
            parameter.name = prefix + path

    def get_sub_cell(self, target: str) -> Any:
        """The sub-cell at a dotted path."""
        cell: Any = self
        for name in filter(None, target.split(".")):
            if name not in cell._cells:
                raise problem(
                    AttributeError,
                    f"there is no cell at {target!r}",
                    got=name,
                    expected=f"one of {', '.join(cell._cells)}",
                )
            cell = cell._cells[name]
        return cell

    @property
    def param_prefix(self) -> str:
        """The prefix of the names of this cell's own parameters."""
        return self._param_prefix

    def update_cell_prefix(self) -> None:
        """Set the `param_prefix` of every sub-cell to its path."""
        for path, cell in self.cells_and_names():
            object.__setattr__(cell, "_param_prefix", f"{path}." if path else "")

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Any:
        """Fuse the communication of gradients: parameters with the same number form a group."""
        check_non_negative_int("set_comm_fusion", "fusion_type", fusion_type)
        for parameter in self.trainable_params(recurse):
            parameter.comm_fusion = fusion_type
        return self

    def parameters_broadcast_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter] | None:
        """The parameters that are identical in all processes, by name; None if there are none."""
        replicated = [p for p in self.get_parameters(expand=recurse) if not p.layerwise_parallel]
        return OrderedDict((p.name, p) for p in replicated) or None

    def check_names_and_refresh_name(self) -> None:
        """Name unnamed parameters by their paths, and raise if two share a name."""
        for path, parameter in list(self.parameters_and_names()):
            if parameter.has_default_name:
                parameter.name = path
        self.check_names()

    def check_names(self) -> None:
        """Raise if two parameters share a name."""
        seen: dict[str, Parameter] = {}
        for parameter in self.get_parameters():
            if parameter.name in seen:
                raise problem(
                    ValueError,
                    f"two parameters have the name {parameter.name!r}",
                    fix="give one of them a different name",
                )
            seen[parameter.name] = parameter

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Any, Any]:
        """For compatibility: parameters are initialized when they are created."""
        return {parameter: parameter for parameter in self.get_parameters()}
