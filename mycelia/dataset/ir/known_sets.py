"""The source of a published set: a folder in a known layout, of which a part is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mycelia._engine.core.errors import problem
from mycelia.dataset.ir.sources import SourceNode


@dataclass(frozen=True, eq=False, kw_only=True)
class SetFolder(SourceNode):
    """A published set in a folder."""

    dataset_dir: str

    def __post_init__(self) -> None:
        if not Path(self.dataset_dir).is_dir():
            raise problem(
                ValueError,
                f"{self.title}: dataset_dir is no folder that can be read",
                got=str(self.dataset_dir),
            )

    @property
    def title(self) -> str:
        """What users call the set; MindSpore's JSON calls some otherwise."""
        return self.op_type.removeprefix("k").replace("Node", "Dataset")


@dataclass(frozen=True, eq=False, kw_only=True)
class KnownSet(SetFolder):
    """A published set in parts, of which `usage` chooses one, or all."""

    usages: ClassVar[tuple[str, ...]] = ("train", "test", "all")
    usage: str = "all"

    def __post_init__(self) -> None:
        check_member(self.title, "usage", self.usage, self.usages)
        super().__post_init__()


def check_member(owner: str, argument: str, value: Any, known: Sequence[Any]) -> None:
    """A value must be one of those that are known."""
    if value not in known:
        raise problem(
            ValueError,
            f"{owner}: no part of it is called that",
            got=f"{argument}={value!r}",
            expected=", ".join(map(repr, known)),
        )
