"""The worker of PyTorch: `python -m workers.torch_nets [compile] [malloc SCRIPT]`."""

from __future__ import annotations

import sys
from typing import Any

import torch

from . import torch_language, torch_small, torch_vision
from .protocol import Job, cores, keep_memory, serve

BUILDERS = torch_vision.BUILDERS | torch_language.BUILDERS | torch_small.BUILDERS


def main() -> None:
    """Serve, with the options of the command line."""
    if "malloc" in sys.argv:
        keep_memory(sys.argv[-1])
    torch.set_num_threads(cores())
    serve(build, f"torch {torch.__version__}")


def build(sizes: dict[str, Any]) -> Job:
    """The workload that these sizes describe."""
    return BUILDERS[sizes["net"]](sizes, "compile" in sys.argv)


if __name__ == "__main__":
    main()
