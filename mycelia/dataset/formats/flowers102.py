"""The MATLAB files of Oxford Flowers 102: the class and the split of each numbered image."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.image_rows import Rows, needed_file, needed_folder, some_rows
from mycelia.dataset.formats.matlab import read_matlab

NAME = "Flowers102Dataset"
CLASSES = (
    "pink primrose", "hard-leaved pocket orchid", "canterbury bells", "sweet pea",
    "english marigold", "tiger lily", "moon orchid", "bird of paradise", "monkshood",
    "globe thistle", "snapdragon", "colt's foot", "king protea", "spear thistle", "yellow iris",
    "globe-flower", "purple coneflower", "peruvian lily", "balloon flower",
    "giant white arum lily", "fire lily", "pincushion flower", "fritillary", "red ginger",
    "grape hyacinth", "corn poppy", "prince of wales feathers", "stemless gentian", "artichoke",
    "sweet william", "carnation", "garden phlox", "love in the mist", "mexican aster",
    "alpine sea holly", "ruby-lipped cattleya", "cape flower", "great masterwort", "siam tulip",
    "lenten rose", "barbeton daisy", "daffodil", "sword lily", "poinsettia", "bolero deep blue",
    "wallflower", "marigold", "buttercup", "oxeye daisy", "common dandelion", "petunia",
    "wild pansy", "primula", "sunflower", "pelargonium", "bishop of llandaff", "gaura",
    "geranium", "orange dahlia", "pink-yellow dahlia?", "cautleya spicata", "japanese anemone",
    "black-eyed susan", "silverbush", "californian poppy", "osteospermum", "spring crocus",
    "bearded iris", "windflower", "tree poppy", "gazania", "azalea", "water lily", "rose",
    "thorn apple", "morning glory", "passion flower", "lotus", "toad lily", "anthurium",
    "frangipani", "clematis", "hibiscus", "columbine", "desert-rose", "tree mallow", "magnolia",
    "cyclamen", "watercress", "canna lily", "hippeastrum", "bee balm", "ball moss", "foxglove",
    "bougainvillea", "camellia", "mallow", "mexican petunia", "bromelia", "blanket flower",
    "trumpet creeper", "blackberry lily",
)  # fmt: skip
COLUMNS = {
    "Classification": ("image", "label"),
    "Segmentation": ("image", "segmentation", "label"),
}
_PARTS = {
    "train": ("trnid",),
    "valid": ("valid",),
    "test": ("tstid",),
    "all": ("trnid", "tstid", "valid"),
}


def check_folders(folder: str, task: str) -> None:
    """The folders of images that the task needs."""
    for name in ("jpg", "segmim") if task == "Segmentation" else ("jpg",):
        needed_folder(Path(folder) / name, NAME, ValueError)
    for name in ("imagelabels.mat", "setid.mat"):
        needed_file(Path(folder) / name, NAME, ValueError)


def flowers102_rows(folder: str, task: str, usage: str) -> Rows:
    """Each flower with its class, and its mask if the task asks for it."""
    root = Path(folder)
    (classes,) = read_matlab(root / "imagelabels.mat", ("labels",), NAME)
    parts = read_matlab(root / "setid.mat", _PARTS[usage], NAME)
    labels = classes.reshape(-1).astype(np.int64) - 1
    rows: Rows = []
    for number in np.concatenate([part.reshape(-1) for part in parts]).tolist():
        if not 1 <= number <= len(labels):
            raise problem(
                RuntimeError,
                f"{NAME}: setid.mat refers to an image that imagelabels.mat lacks",
                got=f"image {number} of {len(labels)} in {folder}",
            )
        paths = [root / "jpg" / f"image_{number:05d}.jpg"]
        if task == "Segmentation":
            paths.append(root / "segmim" / f"segmim_{number:05d}.jpg")
        rows.append((*paths, np.array(labels[number - 1], np.uint32)))
    return some_rows(rows, NAME, folder)
