"""Files of plans read for what they say of parameters, and put together."""

from __future__ import annotations

from pathlib import Path

from mycelia._engine.core.errors import problem
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.distributed.plan.plan import Plan, load, save

Strategies = dict[str, tuple[Mesh, Placement]]


def build_searched_strategy(strategy_filename: str) -> Strategies:
    """How the plans of a file lay their inputs out: by name, the mesh and the cuts on it.

    It is what `merge_sliced_parameter` takes. Where two programs differ, the later one counts.
    """
    found: Strategies = {}
    for plan in load(strategy_filename):
        found |= _inputs(plan)
    return found


def _inputs(plan: Plan) -> Strategies:
    mesh = Mesh(plan.mesh)
    return {row.name: (mesh, Placement(row.cuts)) for row in plan.rows if row.is_input}


def merge_pipeline_strategys(src_strategy_dirs: str, dst_strategy_file: str) -> None:
    """Put the plans of all files in a folder into one file."""
    folder = Path(src_strategy_dirs)
    files = sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []
    target = Path(dst_strategy_file)
    plans = [plan for file in files if file != target for plan in load(file)]
    if not plans:
        raise problem(
            ValueError,
            "merge_pipeline_strategys: the folder has no files of plans",
            got=repr(src_strategy_dirs),
            fix="let programs write them: set_auto_parallel_context(strategy_ckpt_save_file=...)",
        )
    save(plans, target)
