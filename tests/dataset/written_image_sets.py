"""Small folders in the layouts of all known sets of images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.dataset import written_annotated_sets, written_listed_sets, written_pixel_sets

WRITERS: dict[str, Callable[[Path], None]] = {
    name.removeprefix("write_"): function
    for module in (written_annotated_sets, written_pixel_sets, written_listed_sets)
    for name, function in vars(module).items()
    if name.startswith("write_")
}
