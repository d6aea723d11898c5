"""Source nodes of synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.made_images import MadeImages
from mycelia.dataset.formats.random_rows import RandomRows
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.formats.schema import ColumnSchema
from mycelia.dataset.ir.sources import SourceNode


@dataclass(frozen=True, eq=False, kw_only=True)
class FakeImage(SourceNode):
    """Images of random pixels."""

    op_type = "FakeImageNode"
    num_images: int = 1000
    image_size: tuple[int, ...] = (224, 224, 3)
    classes: int = field(default=10, metadata={"name": "num_classes"})
    base_seed: int = 0

    def __post_init__(self) -> None:
        if len(self.image_size) != 3:
            raise problem(
                ValueError,
                "FakeImageDataset: image_size must have three values",
                got=str(self.image_size),
                expected="(height, width, channels)",
            )
        positive = {"num_images": self.num_images, "num_classes": self.classes}
        positive |= {f"image_size[{index}]": size for index, size in enumerate(self.image_size)}
        for name, value in positive.items():
            if not 1 <= value < 2**31:
                raise problem(
                    ValueError,
                    f"FakeImageDataset: {name} is out of range",
                    got=str(value),
                    expected="1 or more, in 31 bits",
                )

    def open(self) -> RowReader:
        return MadeImages(self.num_images, self.image_size, self.classes, self.base_seed)

    def num_classes(self) -> int | None:
        return self.classes


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomColumns(SourceNode):
    """Random values in the columns of a schema."""

    op_type = "RandomDataset"
    total_rows: int
    schema: tuple[ColumnSchema, ...] = field(metadata={"json": False})
    seed: int = field(metadata={"json": False})

    def open(self) -> RowReader:
        return RandomRows(self.schema, self.total_rows, self.seed)
