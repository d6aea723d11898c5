"""All formats by name."""

from __future__ import annotations

from tests.fuzz.file import checkpoints, conversions, programs, rows, settings
from tests.fuzz.file.format import Format

FORMATS: dict[str, Format] = {
    one.name: one
    for part in (checkpoints, conversions, programs, rows, settings)
    for one in part.formats()
}
GROUPS: dict[str, int] = {
    "checkpoints": 4,
    "programs": 2,
    "records": 3,
    "image sets": 3,
    "text sets": 3,
    "text models": 2,
    "settings": 2,
    "conversions": 2,
    "images": 1,
}
"""How often the formats of each group are drawn."""
