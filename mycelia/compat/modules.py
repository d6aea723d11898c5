"""Table of MindSpore's module paths, old and new, and the Mycelia modules that serve them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from mycelia.compat.names import modules_of_names

ROOT, OURS = "mindspore", "mycelia"
INNER = "mycelia.compat.internal_names"

# Mycelia modules that are searched for a name of a path and everything below it, in this order. The
# nearest entry applies (the root's only to itself); a Mycelia module of the same path comes first.
TABLE: dict[str, tuple[str, ...]] = {
    "mindspore": (
        "mycelia",
        "mycelia.amp",
        "mycelia.train",
        "mycelia.runtime",
        f"{INNER}.packages",
    ),
    "mindspore._c_expression": (f"{INNER}.engine",),
    "mindspore._c_expression.security": (f"{INNER}.security",),
    "mindspore._c_expression.typing": (f"{INNER}.types",),
    "mindspore._checkparam": (f"{INNER}.checks",),
    "mindspore._extends": (f"{INNER}.packages",),
    "mindspore.boost": ("mycelia.boost",),
    "mindspore.boost.grad_accumulation": ("mycelia.boost", f"{INNER}.accumulation"),
    "mindspore.common": (
        "mycelia",
        "mycelia._engine.core.dtype",
        "mycelia.tensor.initializer",
        f"{INNER}.executors",
    ),
    "mindspore.common.dtype": ("mycelia._engine.core.dtype", "mycelia"),
    "mindspore.common.initializer": ("mycelia.tensor.initializer", f"{INNER}.initial_values"),
    "mindspore.communication": ("mycelia.communication",),
    "mindspore.context": ("mycelia.context", "mycelia"),
    "mindspore.dataset": ("mycelia.dataset",),
    "mindspore.dataset.audio": ("mycelia.dataset.audio",),
    "mindspore.dataset.core.config": ("mycelia.dataset.config",),
    "mindspore.dataset.core.validator_helpers": (f"{INNER}.dataset_checks",),
    "mindspore.dataset.text": ("mycelia.dataset.text",),
    "mindspore.dataset.transforms": ("mycelia.dataset.transforms",),
    "mindspore.dataset.transforms.vision": ("mycelia.dataset.vision",),
    "mindspore.dataset.utils": ("mycelia.dataset.inspection",),
    "mindspore.dataset.vision": ("mycelia.dataset.vision",),
    "mindspore.dtype": ("mycelia._engine.core.dtype",),
    "mindspore.experimental": (),
    "mindspore.log": ("mycelia.log",),
    "mindspore.mindrecord": ("mycelia.mindrecord",),
    "mindspore.mint": (),
    "mindspore.multiprocessing": ("multiprocessing",),
    "mindspore.nn": ("mycelia.nn", "mycelia.train", f"{INNER}.layers"),
    "mindspore.nn.grad": (f"{INNER}.derivatives", "mycelia.nn"),
    "mindspore.nn.loss": ("mycelia.nn", f"{INNER}.cells"),
    "mindspore.nn.optim": ("mycelia.nn", f"{INNER}.cells"),
    "mindspore.nn.wrap": ("mycelia.nn", f"{INNER}.cells"),
    "mindspore.nn.metrics": ("mycelia.train",),
    "mindspore.nn.probability": (),
    "mindspore.ops": ("mycelia.ops", "mycelia", f"{INNER}.operators"),
    "mindspore.ops.operations._grad_ops": (f"{INNER}.gradient_operators", "mycelia.ops"),
    "mindspore.parallel": ("mycelia.parallel", "mycelia", f"{INNER}.parallel"),
    "mindspore.profiler": ("mycelia.profiler", "mycelia"),
    "mindspore.rewrite": ("mycelia.rewrite",),
    "mindspore.train": ("mycelia.train", "mycelia.amp", "mycelia", f"{INNER}.callbacks"),
    "mindspore.train._utils": (f"{INNER}.checks", f"{INNER}.training"),
    "mindspore.train.amp": ("mycelia.amp", "mycelia.train", f"{INNER}.precision"),
    "mindspore.train.callback": ("mycelia.train", f"{INNER}.callbacks"),
    "mindspore.train.serialization": ("mycelia.train", "mycelia", f"{INNER}.training"),
    "mindspore.train.summary.enums": (f"{INNER}.summary",),
}

# Modules that hide a Mycelia object with the same path.
HIDING_MODULES = frozenset({"mindspore.common.initializer"})

# Paths that scripts import although the list of names does not contain them.
OTHER_PATHS = """
    common.api common.parameter common.seed common.tensor
    dataset.engine dataset.transforms.c_transforms dataset.transforms.py_transforms
    dataset.transforms.transforms dataset.vision.c_transforms dataset.vision.py_transforms
    dataset.vision.utils
    nn.cell nn.dynamic_lr nn.layer.activation nn.layer.basic nn.layer.container nn.layer.conv
    nn.layer.embedding nn.layer.math nn.layer.normalization nn.layer.pooling
    nn.learning_rate_schedule nn.loss nn.loss.loss nn.metrics nn.metrics.metric
    nn.optim nn.optim.adam nn.optim.momentum nn.optim.optimizer nn.optim.rmsprop nn.optim.sgd
    nn.wrap nn.wrap.cell_wrapper nn.wrap.grad_reducer nn.wrap.loss_scale
    nn.probability.bijector nn.probability.bnn_layers nn.probability.distribution
    nn.probability.dpn nn.probability.infer nn.probability.toolbox
    ops.composite ops.functional ops.operations ops.operations.comm_ops ops.op_info_register
    ops.P ops.primitive
    profiler.profiling scipy.sparse scipy.sparse.linalg
    train.amp train.callback train.callback._callback train.callback._loss_monitor
    train.callback._time_monitor train.loss_scale_manager train.metrics train.model
    train.serialization train.summary train.summary.summary_record train.train_thor
"""


@cache
def targets(path: str) -> tuple[str, ...]:
    """Mycelia modules that serve a MindSpore path; none if it is not supported."""
    if path not in known_paths() and not is_private(path):
        return ()
    same = OURS + path.removeprefix(ROOT)
    entry = next(above for above in _with_those_above(path) if above in TABLE)
    listed = TABLE[entry] if entry != ROOT or path == ROOT else ()
    return tuple(dict.fromkeys(module for module in (same, *listed) if _exists(module)))


def is_module(path: str) -> bool:
    """Whether a path imports as a module, including MindSpore internals that Mycelia lacks.

    A path with a private part (`mindspore.ops._grad`) always does.
    """
    return path in known_paths() or is_private(path)


def is_internal(path: str) -> bool:
    """Whether a module is not part of MindSpore's public API."""
    return is_private(path) or path not in public_paths()


def is_private(path: str) -> bool:
    """Whether a path component begins with an underscore, as in `mindspore.common._utils`."""
    return path.startswith(ROOT + ".") and any(part.startswith("_") for part in path.split("."))


@cache
def public_paths() -> frozenset[str]:
    """Modules of MindSpore's public API."""
    listed = modules_of_names()
    return frozenset(above for path in listed for above in _with_those_above(path))


@cache
def internal_paths() -> frozenset[str]:
    """Internal modules of this and earlier MindSpore versions that scripts may import."""
    listed = files("mycelia.compat").joinpath("internal_paths.txt").read_text(encoding="utf-8")
    paths = [f"{ROOT}.{path}" for path in listed.split()]
    return frozenset(above for path in paths for above in _with_those_above(path))


@cache
def served_paths() -> frozenset[str]:
    """MindSpore's modules that Mycelia has as modules, not only as a path of some names."""
    listed = TABLE.keys() | {f"{ROOT}.{path}" for path in OTHER_PATHS.split()}
    above = frozenset(above for path in listed for above in _with_those_above(path))
    return above | public_paths()


@cache
def known_paths() -> frozenset[str]:
    """All known module paths of MindSpore."""
    return served_paths() | internal_paths()


def _with_those_above(path: str) -> list[str]:
    """The path and its parents: a.b.c, a.b, a."""
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


@cache
def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
