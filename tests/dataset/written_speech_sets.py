"""Small folders in the layout of the known sets of speech."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from tests.dataset.written_text_sets import put


def write_speech_sets(root: Path) -> None:
    """One folder below `root` for each set."""
    for write in (_yes_no, _commands, _libri, _lj, _gtzan, _arctic, _tedlium):
        write(root)


def write_wave(
    path: Path, seed: int, *, rate: int = 8000, channels: int = 1, width: int = 2, count: int = 6
) -> None:
    """A WAV file of a few random samples."""
    draw = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(draw.bytes(count * channels * width))


def write_sph(
    path: Path, seed: int, *, rate: int = 100, count: int = 500, order: str = "01"
) -> None:
    """A SPHERE file of 16-bit samples with a head of 1024 bytes."""
    head = (
        "NIST_1A\n   1024\n"
        f"sample_count -i {count}\nsample_n_bytes -i 2\nchannel_count -i 1\n"
        f"sample_byte_format -s2 {order}\nsample_rate -i {rate}\nsample_coding -s3 pcm\nend_head\n"
    )
    samples = np.random.default_rng(seed).integers(-(2**15), 2**15, count)
    path.parent.mkdir(parents=True, exist_ok=True)
    form = "<i2" if order == "01" else ">i2"
    path.write_bytes(head.encode().ljust(1024) + samples.astype(form).tobytes())


def _yes_no(root: Path) -> None:
    for number, name in enumerate(("0_0_0_0_1_1_1_1", "1_0_1_0_0_1_1_0", "0_0_0_1_0_0_0_1")):
        write_wave(root / f"yesno/{name}.wav", number, rate=8000 + number)
    put(root / "yesno/README", "about")


def _commands(root: Path) -> None:
    names = [
        "bed/0a7c2a8d_nohash_0",
        "bed/0a7c2a8d_nohash_1",
        "cat/ff_nohash_10",
        "cat/00_nohash_2",
    ]
    for number, name in enumerate(names):
        write_wave(root / f"commands/{name}.wav", number)
    write_wave(root / "commands/_background_noise_/pink_noise.wav", 9)
    put(root / "commands/testing_list.txt", "bed/0a7c2a8d_nohash_1.wav\n")
    put(root / "commands/validation_list.txt", "cat/00_nohash_2.wav\n")


def _libri(root: Path) -> None:
    for part, chapter in (
        ("dev-clean", "84_121123"),
        ("dev-clean", "174_50561"),
        ("train-clean-100", "19_198"),
    ):
        folder = root / "libri" / part / chapter.replace("_", "/")
        names = [f"{chapter}_000007_000001", f"{chapter}_000003_000000"]
        lines = [f'{name}\tChapter "3", {name}\tChapter three é\n' for name in names]
        put(folder / f"{chapter}.trans.tsv", "".join(lines))
        for number, name in enumerate(names):
            write_wave(folder / f"{name}.wav", number, rate=24000)


def _lj(root: Path) -> None:
    rows = [
        ("LJ001-0002", "in being, 1 é", "in being, one é"),
        ("LJ001-0001", "Printing", "Printing"),
    ]
    put(root / "lj/metadata.csv", "".join("|".join(row) + "\n" for row in rows))
    for number, row in enumerate(rows):
        write_wave(root / f"lj/wavs/{row[0]}.wav", number)


def _gtzan(root: Path) -> None:
    for number, name in enumerate(("blues.00000", "blues.00005", "rock.00003", "disco.00001")):
        write_wave(root / f"gtzan/{name.split('.')[0]}/{name}.wav", number, rate=22050)


def _arctic(root: Path) -> None:
    for voice in ("aew", "slt"):
        folder = root / f"arctic/cmu_us_{voice}_arctic"
        lines = [
            f'( arctic_a0002 "Not at this particular case, {voice}." )',
            "( arctic_b0539 \"Author of 'the' trail.\" )",
        ]
        put(folder / "etc/txt.done.data", "\n".join(lines) + "\n")
        for number, name in enumerate(("arctic_a0002", "arctic_b0539")):
            write_wave(folder / f"wav/{name}.wav", number, rate=16000)


def _tedlium(root: Path) -> None:
    talk = (
        "Talk_A 1 Talk_A 0.50 1.25 <o,f0,male> hello é world\n"
        "Talk_A 1 Talk_A 1.25 2.00 <o,f0,male> second <unk> (2) line\n"
    )
    other = "Other_B 1 inter_segment_gap 0 1.00 <o,,unknown> ignore_time_segment_in_scoring\n"
    folders = ["ted1/train", "ted1/test", "ted1/dev", "ted3/data", "ted3/legacy/test"]
    for number, folder in enumerate(folders):
        put(root / folder / "stm/Talk_A.stm", talk)
        put(root / folder / "stm/Other_B.stm", other)
        write_sph(root / folder / "sph/Talk_A.sph", number)
        write_sph(root / folder / "sph/Other_B.sph", number + 10)
