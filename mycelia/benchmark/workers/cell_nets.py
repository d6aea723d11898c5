"""The worker of Mycelia and of MindSpore: the same source for both, in graph mode."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from . import cell_language, cell_small, cell_vision
from .framework import NAME, ms
from .protocol import Job, cores, serve

BUILDERS = cell_vision.BUILDERS | cell_language.BUILDERS | cell_small.BUILDERS


def main() -> None:
    """Serve, in graph mode."""
    ms.set_context(mode=ms.GRAPH_MODE, runtime_num_threads=cores())
    serve(build, f"{NAME} {version(NAME)}")


def build(sizes: dict[str, Any]) -> Job:
    """The workload that these sizes describe."""
    return BUILDERS[sizes["net"]](sizes)


if __name__ == "__main__":
    main()
