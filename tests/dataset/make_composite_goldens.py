"""Stores what MindSpore's composite image transforms, file functions and drawings give.

Run with a Python that has mindspore 2.10, Pillow and OpenCV 4:
`python tests/dataset/make_composite_goldens.py`. It writes goldens_composite.npz.
It reads goldens_video.mkv, which make_golden_video.py writes.
"""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import mindspore.dataset as ds
import numpy as np
from composite_cases import PHOTO, SMALL, augments, cases, drawings
from mindspore.dataset.utils import imshow_det_bbox
from PIL import Image

FILE = Path(__file__).with_name("goldens_composite.npz")
VIDEO = Path(__file__).with_name("goldens_video.mkv")
DRAWS = 4000


def outcomes(transform: Any) -> tuple[np.ndarray, np.ndarray]:
    """The results of a random transform, and how often each came."""
    counts = Counter(transform(SMALL).tobytes() for _ in range(DRAWS))
    images = [np.frombuffer(data, np.uint8).reshape(SMALL.shape) for data in counts]
    return np.stack(images), np.array(list(counts.values()))


def image_files() -> dict[str, bytes]:
    """Name -> the bytes of an image file of some kind."""
    small, gray = PHOTO[:8, :12], PHOTO[:8, :12, 0]
    turned = Image.Exif()
    turned[274] = 6
    made = {
        "rgb.png": (Image.fromarray(small), {}),
        "gray.png": (Image.fromarray(gray), {}),
        "alpha.png": (Image.fromarray(np.dstack([small, gray])), {}),
        "palette.png": (Image.fromarray(small).convert("P"), {}),
        "deep.png": (Image.fromarray(gray.astype(np.uint16) * 200), {}),
        "rgb.bmp": (Image.fromarray(small), {}),
        "rgb.jpg": (Image.fromarray(small), {"quality": 95}),
        "inks.jpg": (Image.fromarray(np.dstack([small, gray]), "CMYK"), {}),
        "turned.jpg": (Image.fromarray(small), {"exif": turned}),
    }
    return {name: _saved(name, image, options) for name, (image, options) in made.items()}


def _saved(name: str, image: Any, options: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    image.save(file, {"jpg": "JPEG"}.get(name[-3:], name[-3:].upper()), **options)
    return file.getvalue()


def read_images(folder: Path) -> dict[str, np.ndarray]:
    """The files, and what read_image makes of them."""
    made = {}
    for name, data in image_files().items():
        (folder / name).write_bytes(data)
        made[f"file/{name}"] = np.frombuffer(data, np.uint8)
        for mode in ds.vision.ImageReadMode:
            image = ds.vision.read_image(str(folder / name), mode)
            made[f"read/{name}/{mode.name}"] = image
    return made


def videos() -> dict[str, np.ndarray]:
    """What read_video makes of stretches of the video."""
    made = {}
    stretches = {"whole": (), "ticks": (200, 500), "seconds": (0.3, 0.7, "sec"), "late": (9000,)}
    for name, stretch in stretches.items():
        frames, sound, rates = ds.vision.read_video(str(VIDEO), *stretch)
        made[f"video/{name}"], made[f"sound/{name}"] = frames, sound
        made[f"rates/{name}"] = np.array([rates["video_fps"], rates["audio_fps"]])
    for unit in ("pts", "sec"):
        times, rate = ds.vision.read_video_timestamps(str(VIDEO), unit)
        made[f"times/{unit}"] = np.array([*times, rate])
    return made


def main() -> None:
    made: dict[str, Any] = {}
    for name, call in cases(ds.vision).items():
        result = call()
        parts = result if isinstance(result, tuple) else (result,)
        made.update({f"case/{name}/{place}": part for place, part in enumerate(parts)})
    for name, transform in augments(ds.vision).items():
        made[f"outcomes/{name}"], made[f"counts/{name}"] = outcomes(transform)
    with tempfile.TemporaryDirectory() as folder:
        made.update(read_images(Path(folder)))
        for name, arguments in drawings().items():
            out = f"{folder}/drawn.png"
            made[f"drawing/{name}"] = imshow_det_bbox(**arguments, out_file=out)
    made.update(videos())
    np.savez_compressed(FILE, **made)
    print(f"{len(made)} arrays in {FILE}")


if __name__ == "__main__":
    main()
