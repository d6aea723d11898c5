"""Strategy files: reading the layouts of parameters, and merging files."""

from __future__ import annotations

from pathlib import Path

from mycelia._engine.core.errors import problem
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.distributed.plan.plan import Plan, load, save

Strategies = dict[str, tuple[Mesh, Placement]]


def build_searched_strategy(strategy_filename: str) -> Strategies:
    """Read the layouts of inputs from a strategy file: the mesh and placement of each by name.

    Pass the result to `merge_sliced_parameter`. If two programs disagree, the later one wins.
    """
    strategies: Strategies = {}
    for plan in load(strategy_filename):
        strategies |= _inputs(plan)
    return strategies


def _inputs(plan: Plan) -> Strategies:
    mesh = Mesh(plan.mesh)
    return {row.name: (mesh, Placement(row.cuts)) for row in plan.rows if row.is_input}


def merge_pipeline_strategys(src_strategy_dirs: str, dst_strategy_file: str) -> None:
    """Merge all strategy files of a folder into one file."""
    folder = Path(src_strategy_dirs)
    files = sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []
    target = Path(dst_strategy_file)
    plans = [plan for file in files if file != target for plan in load(file)]
    if not plans:
        raise problem(
            ValueError,
            "merge_pipeline_strategys: the folder contains no strategy files",
            got=repr(src_strategy_dirs),
            fix="write them with set_auto_parallel_context(strategy_ckpt_save_file=...)",
        )
    save(plans, target)
