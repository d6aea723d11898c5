"""The one table of MindSpore's module paths, old and new, and where their names live here."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from mycelia.compat.names import modules_of_names

ROOT, OURS = "mindspore", "mycelia"

# For a path and all below it: modules of ours that are asked for a name, in this order. The nearest
# entry speaks (the root's for itself only); our module of the same path, if any, is asked first.
TABLE: dict[str, tuple[str, ...]] = {
    "mindspore": ("mycelia", "mycelia.amp", "mycelia.train"),
    "mindspore.boost": ("mycelia.boost",),
    "mindspore.common": ("mycelia", "mycelia.core.dtype", "mycelia.tensor.initializer"),
    "mindspore.common.dtype": ("mycelia.core.dtype", "mycelia"),
    "mindspore.common.initializer": ("mycelia.tensor.initializer",),
    "mindspore.communication": ("mycelia.communication",),
    "mindspore.context": ("mycelia.context", "mycelia"),
    "mindspore.dataset": ("mycelia.dataset",),
    "mindspore.dataset.audio": ("mycelia.dataset.audio",),
    "mindspore.dataset.text": ("mycelia.dataset.text",),
    "mindspore.dataset.transforms": ("mycelia.dataset.transforms",),
    "mindspore.dataset.transforms.vision": ("mycelia.dataset.vision",),
    "mindspore.dataset.utils": ("mycelia.dataset.viewing",),
    "mindspore.dataset.vision": ("mycelia.dataset.vision",),
    "mindspore.dtype": ("mycelia.core.dtype",),
    "mindspore.experimental": (),
    "mindspore.log": ("mycelia.log",),
    "mindspore.mindrecord": ("mycelia.mindrecord",),
    "mindspore.mint": (),
    "mindspore.nn": ("mycelia.nn", "mycelia.train"),
    "mindspore.nn.metrics": ("mycelia.train",),
    "mindspore.nn.probability": (),
    "mindspore.ops": ("mycelia.ops", "mycelia"),
    "mindspore.parallel": ("mycelia.parallel", "mycelia"),
    "mindspore.profiler": ("mycelia.profiler", "mycelia"),
    "mindspore.rewrite": ("mycelia.rewrite",),
    "mindspore.train": ("mycelia.train", "mycelia.amp", "mycelia"),
}

# Paths that scripts import though the list of names does not have them.
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
    ops.primitive
    profiler.profiling scipy.sparse scipy.sparse.linalg
    train.amp train.callback train.callback._callback train.callback._loss_monitor
    train.callback._time_monitor train.loss_scale_manager train.metrics train.model
    train.serialization train.summary train.summary.summary_record train.train_thor
"""


@cache
def targets(path: str) -> tuple[str, ...]:
    """Our modules that stand behind one of MindSpore's paths; none, if it is not served."""
    if path not in known_paths():
        return ()
    same = OURS + path.removeprefix(ROOT)
    entry = next(above for above in _with_those_above(path) if above in TABLE)
    listed = TABLE[entry] if entry != ROOT or path == ROOT else ()
    return tuple(dict.fromkeys(module for module in (same, *listed) if _exists(module)))


@cache
def known_paths() -> frozenset[str]:
    """Every module path of MindSpore's that we know of."""
    other = {f"{ROOT}.{path}" for path in OTHER_PATHS.split()}
    listed = modules_of_names() | TABLE.keys() | other
    return frozenset(above for path in listed for above in _with_those_above(path))


def _with_those_above(path: str) -> list[str]:
    """a.b.c, a.b, a."""
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


@cache
def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
