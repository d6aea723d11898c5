"""A converter from a folder of images per class, as in ImageNet, to MindRecord."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count, read_lines
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.warn_once import logger
from mycelia.mindrecord.converters.conversion import (
    check_partition_number,
    image_writer,
    write_rows,
)
from mycelia.mindrecord.exceptions import SUCCESS, ConversionStatus, PathNotExistsError
from mycelia.mindrecord.names import check_file_name

_SCHEMA = {
    "label": {"type": "int32"},
    "image": {"type": "bytes"},
    "file_name": {"type": "string"},
}


class ImageNetToMR(CheckedKeywords):
    """Writes label, file_name, and image of all JPEG files.

    Each line of `map_file` is the name of a folder in `image_dir`, a space, and its label.
    """

    def __init__(
        self, map_file: str, image_dir: str, destination: str, partition_number: int = 1
    ) -> None:
        self.map_file = check_file_name(map_file, "map_file")
        self.image_dir = check_file_name(image_dir, "image_dir")
        self.destination = check_file_name(destination, "destination")
        self.partition_number = check_partition_number(partition_number)
        self.writer = image_writer(
            self.destination, self.partition_number, _SCHEMA, "imagenet_schema"
        )
        self.writer.add_index(["label", "file_name"])

    def run(self) -> ConversionStatus:
        """Convert all images; with several partitions, each is a separate dataset."""
        write_rows(self.writer, self._rows(), label="ImageNetToMR", parallel_writer=True)
        return SUCCESS

    def transform(self) -> None:
        """Convert all images; with several partitions, each is a separate dataset."""
        self.run()

    def _rows(self) -> Iterator[dict[str, Any]]:
        for label, folder in self._folders():
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if not name.endswith(("JPEG", "jpg")):
                    logger.warning(
                        "ImageNetToMR: skipping %s, which is not a .jpeg or .jpg file", path
                    )
                    continue
                with open(path, "rb") as file:
                    image = file.read()
                if image:
                    yield {"label": label, "file_name": path, "image": image}
                else:
                    logger.warning("ImageNetToMR: skipping %s, which is empty", path)

    def _folders(self) -> list[tuple[int, str]]:
        folders = []
        for name, label in self._map().items():
            path = os.path.join(self.image_dir, name)
            if os.path.isdir(path):
                folders.append((label, path))
            else:
                logger.warning("ImageNetToMR: the folder %s does not exist", path)
        if not folders:
            raise PathNotExistsError(
                f"no folder listed in {self.map_file} exists in {self.image_dir}"
            )
        return folders

    def _map(self) -> dict[str, int]:
        """The label of each folder."""
        labels = {}
        for number, line in enumerate(read_lines(self.map_file, "ImageNetToMR"), 1):
            words = line.split()
            if len(words) < 2 or not is_count(words[1]):
                raise problem(
                    ValueError,
                    f"ImageNetToMR: line {number} of {self.map_file} cannot be parsed",
                    got=f"{line.strip():.200}",
                    expected="a folder name and its label, like 'n01440764 0'",
                )
            labels[words[0]] = int(words[1])
        return labels
