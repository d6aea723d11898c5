"""Base classes of source nodes for published datasets: a folder with a known structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mycelia._engine.core.errors import problem
from mycelia.dataset.ir.sources import SourceNode


@dataclass(frozen=True, eq=False, kw_only=True)
class SetFolder(SourceNode):
    """A published dataset in a folder."""

    dataset_dir: str

    def __post_init__(self) -> None:
        if not Path(self.dataset_dir).is_dir():
            raise problem(
                ValueError,
                f"{self.title}: dataset_dir must be a readable folder",
                got=str(self.dataset_dir),
            )

    @property
    def title(self) -> str:
        """The name of the public class; MindSpore's JSON uses other names for some."""
        return self.op_type.removeprefix("k").replace("Node", "Dataset")


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownSet(SetFolder):
    """A published dataset in parts, of which `usage` selects one, or all."""

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "all")
    usage: str = "all"

    def __post_init__(self) -> None:
        check_member(self.title, "usage", self.usage, self.usages)
        super().__post_init__()


def check_member(owner: str, argument: str, value: Any, known: Sequence[Any]) -> None:
    """Check that a value is a valid choice."""
    if value not in known:
        raise problem(
            ValueError,
            f"{owner}: unknown {argument}",
            got=f"{argument}={value!r}",
            expected=", ".join(map(repr, known)),
        )
