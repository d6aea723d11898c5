"""Every program of examples/ learns, through `import mindspore` and through `import mycelia` alike."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mycelia.compat.modules import ROOT, targets

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = sorted(p for p in EXAMPLES.glob("*.py") if "import mindspore" in p.read_text())
LONG = (  # for slow runs: they take longer, or show what others show too
    *("alexnet", "char_gru", "distillation", "dqn", "gat", "hamiltonian_mc", "lstm_sentiment"),
    *("maml", "mixed_precision", "neural_ode", "policy_gradient", "resnet", "wide_and_deep"),
    *("transformer_translation", "unet_segmentation", "vit", "word2vec"),
    *("cross_entropy_summary", "diffusion", "gan", "momentum_summary", "pinn", "vae"),
    "bert_tiny",
    "dense_matmul",
    "gcn",
    "variational_inference",
)
LEARNED = re.compile(r"^(?P<what>.+): (?P<first>\S+) -> (?P<last>\S+)$", re.MULTILINE)

CACHED = {  # the second run finds all programs of the first
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def translated(source: str) -> str:
    """The program with our module paths in place of MindSpore's."""
    return re.sub(rf"\b{ROOT}(?:\.\w+)*", lambda found: _ours(found.group()), source)


def _ours(path: str) -> str:
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        modules = targets(".".join(parts[:count]))
        if modules:
            return ".".join([modules[0], *parts[count:]])
    return path


def run(command: list[str], cache: Path) -> str:
    environment = os.environ | CACHED | {"JAX_COMPILATION_CACHE_DIR": str(cache / "programs")}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cache,
        env=environment,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in LONG))
        for path in PROGRAMS
    ],
)
def test_program(path, tmp_path):
    """It prints what it improved, as `loss: 2.31 -> 0.12`; accuracies and rewards grow, the rest falls."""
    theirs = run([sys.executable, "-m", "mycelia.compat", str(path)], tmp_path)
    improved = list(LEARNED.finditer(theirs))
    assert improved, f"it does not say what it learned:\n{theirs}"
    for line in improved:
        first, last = float(line["first"]), float(line["last"])
        grows = any(word in line["what"] for word in ("accuracy", "reward", "evidence"))
        assert last > first if grows else last < 0.8 * first, line.group()
    copy = tmp_path / path.name
    copy.write_text(translated(path.read_text()))
    assert "mindspore" not in re.sub(r'""".*?"""|#.*', "", copy.read_text(), flags=re.DOTALL)
    ours = run([sys.executable, str(copy)], tmp_path)
    assert LEARNED.findall(ours) == LEARNED.findall(theirs)


def test_there_are_many():
    assert len(PROGRAMS) >= 25
