"""The worker of plain jax: `python -m workers.jax_nets`."""

from __future__ import annotations

from typing import Any

import jax

from . import jax_language, jax_small, jax_vision
from .protocol import Job, serve

BUILDERS = jax_vision.BUILDERS | jax_language.BUILDERS | jax_small.BUILDERS


def main() -> None:
    """Serve; jax uses all cores by itself."""
    serve(build, f"jax {jax.__version__}")


def build(sizes: dict[str, Any]) -> Job:
    """The workload that these sizes describe."""
    return BUILDERS[sizes["net"]](sizes)


if __name__ == "__main__":
    main()
