"""Programs kept on disk: found by the next process, and only when nothing they rely on changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import mycelia as ms
from mycelia._engine.kernels import native
from mycelia._engine.runtime.xla import executable_cache

SCRIPT = """
import json, sys, warnings
import numpy as np
import mycelia as ms
from mycelia import nn

ms.set_context(mode=ms.GRAPH_MODE, enable_compile_cache=True, compile_cache_path=sys.argv[1])
ms.set_seed(1)

class First(nn.Cell):
    def construct(self, given):
        return given[0]

net = nn.SequentialCell({layers})
loss = nn.WithLossCell(net, nn.MSELoss())
step = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.01)).set_train()
x = ms.Tensor(np.linspace(-1, 1, 8 * {rows}).reshape(4, -1, 8).astype(np.float32))
y = ms.Tensor(np.ones((*x.shape[:-1], 2), np.float32))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    losses = [float(step(x, y).asnumpy()) for _ in range(4)]
text = str(ms.jit.explain(step))
print(json.dumps([losses, "from disk" in text, [str(w.message) for w in told]]))
"""


PLAIN = "nn.Dense(8, 16), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(16, 2)"
RECURRENT = "nn.LSTM(8, 64), First(), nn.Dense(64, 2)"


def run(folder: Path, layers: str = PLAIN, rows: int = 4) -> tuple[list[float], bool, list[str]]:
    """The losses in a new process, whether its program was on disk, and what it warned of."""
    code = SCRIPT.replace("{layers}", layers).replace("{rows}", str(rows))
    script = folder.with_suffix(".py")
    script.write_text(code)
    command = [sys.executable, script, folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    losses, was_on_disk, told = json.loads(done.stdout.splitlines()[-1])
    return losses, was_on_disk, told


def test_the_next_process_finds_the_program_and_trains_alike(tmp_path: Path) -> None:
    first, was_there, _ = run(tmp_path)
    assert not was_there
    again, was_there, _ = run(tmp_path)
    assert was_there
    assert again == first
    assert len(set(first)) == 4  # it trains


@pytest.mark.skipif(not native.lanes(), reason="no kernels for this processor")
def test_kernels_of_our_own_are_made_again(tmp_path: Path) -> None:
    (first, *_), (again, was_there, told) = (run(tmp_path, RECURRENT, 4 * 64) for _ in range(2))
    (path,) = tmp_path.glob("programs/*.program")
    kernels, *_ = path.read_bytes()[executable_cache._CHECKSUM :].partition(executable_cache._END)
    assert b"lstm_forward" in kernels
    assert again == first and was_there and not told


@pytest.mark.slow
def test_another_constant_is_another_program(tmp_path: Path) -> None:
    first, _, _ = run(tmp_path)
    other, was_there, _ = run(tmp_path, PLAIN.replace("0.2", "0.3"))
    assert not was_there
    assert other[-1] != first[-1]


def test_a_damaged_file_is_compiled_again(tmp_path: Path) -> None:
    first, _, _ = run(tmp_path)
    (path,) = tmp_path.glob("programs/*.program")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    again, was_there, told = run(tmp_path)
    assert again == first and not was_there
    assert any("damaged" in text and path.name in text for text in told)
    assert run(tmp_path)[1]  # the file was replaced


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs").chmod(0o777)
    with pytest.raises(PermissionError, match="chmod go-w"):
        ms.set_context(enable_compile_cache=True, compile_cache_path=str(tmp_path))
    assert ms.get_context("enable_compile_cache") is False
