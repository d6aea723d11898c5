"""Writes goldens_video.mkv with PyAV: lossless frames with a moving box, and a tone.

Run with our Python: `python tests/dataset/make_golden_video.py`.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

FILE = Path(__file__).with_name("goldens_video.mkv")
FRAMES, RATE, SAMPLES = 8, Fraction(5), 1000


def main() -> None:
    with av.open(str(FILE), "w") as container:
        pictures = container.add_stream("ffv1", rate=RATE)
        pictures.width, pictures.height, pictures.pix_fmt = 16, 12, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=SAMPLES)
        sound.layout = "mono"
        for place in range(FRAMES):
            image = np.zeros((12, 16, 3), np.uint8)
            image[:, :, 0] = place * 20
            image[2:6, place : place + 4, 1] = 200
            container.mux(pictures.encode(av.VideoFrame.from_ndarray(image, "rgb24")))
        container.mux(pictures.encode())
        wave = (np.sin(np.arange(int(SAMPLES * FRAMES / RATE)) * 0.1) * 8000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
        frame.sample_rate = SAMPLES
        container.mux(sound.encode(frame))
        container.mux(sound.encode())
    print(f"{FILE.stat().st_size} bytes in {FILE}")


if __name__ == "__main__":
    main()
