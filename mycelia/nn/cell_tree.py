"""The tree of cells: walking it, and naming the parameters in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from mycelia._engine.core.checks import check_non_negative_int
from mycelia._engine.core.errors import problem
from mycelia.tensor.parameter import Parameter


class CellTree:
    """What a Cell knows of its parameters and sub-cells."""

    _params: OrderedDict[str, Any]
    _cells: OrderedDict[str, Any]
    _buffers: dict[str, bool]  # whether each is part of the state, by name
    _param_prefix: str

    def cells(self) -> Any:
        """The direct sub-cells."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Any]:
        """The direct sub-cells by name, each cell once."""
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
        """This cell and all below, each once, with dotted names; parents first."""
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
        """All parameters, each once, with the dotted path of attributes that leads to them."""
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
        """The parameters an optimizer should update."""
        return [p for p in self.get_parameters(expand=recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        return [p for p in self.get_parameters(expand=recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """The parameters by their own names."""
        return OrderedDict((p.name, p) for p in self.get_parameters(expand=recurse))

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Rename every parameter to `prefix` and its attribute path."""
        if not isinstance(prefix, str):
            raise problem(TypeError, "the prefix must be a str", got=type(prefix).__name__)
        for path, parameter in list(self.parameters_and_names(expand=recurse)):
            parameter.name = prefix + path

    def get_sub_cell(self, target: str) -> Any:
        """The cell at a dotted path below this one."""
        found: Any = self
        for name in filter(None, target.split(".")):
            if name not in found._cells:
                raise problem(
                    AttributeError,
                    f"there is no cell at {target!r}",
                    got=name,
                    expected=f"one of {', '.join(found._cells)}",
                )
            found = found._cells[name]
        return found

    @property
    def param_prefix(self) -> str:
        """What stands before the names of this cell's own parameters."""
        return self._param_prefix

    def update_cell_prefix(self) -> None:
        """Let every cell below know the path that leads to it."""
        for path, cell in self.cells_and_names():
            object.__setattr__(cell, "_param_prefix", f"{path}." if path else "")

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Any:
        """Say which parameters' gradients travel together: those of one number."""
        check_non_negative_int("set_comm_fusion", "fusion_type", fusion_type)
        for parameter in self.trainable_params(recurse):
            parameter.comm_fusion = fusion_type
        return self

    def parameters_broadcast_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter] | None:
        """The parameters that all processes hold alike, by name; None if there are none."""
        alike = [p for p in self.get_parameters(expand=recurse) if not p.layerwise_parallel]
        return OrderedDict((p.name, p) for p in alike) or None

    def check_names_and_refresh_name(self) -> None:
        """Name the parameters by their paths, and raise if two share a name."""
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
                    f"two parameters are called {parameter.name!r}",
                    fix="give one of them another name",
                )
            seen[parameter.name] = parameter

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Any, Any]:
        """Parameters have their data from the start; kept for scripts that ask."""
        return {parameter: parameter for parameter in self.get_parameters()}
