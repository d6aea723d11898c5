"""Compilation of functions to XLA programs, with tuned compiler options."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar

import jax

from mycelia._engine.core.errors import problem
from mycelia._engine.core.lru_dict import LRUDict
from mycelia._engine.core.shape import size
from mycelia._engine.distributed.auto_parallel_settings import parallel_settings
from mycelia._engine.ir.analysis import nodes_by_graph, ordered
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.device import on_cpu
from mycelia._engine.operators.operator import Op
from mycelia._engine.runtime.uninterruptible import uninterruptible
from mycelia.ops.convolution.convolution import Conv2D

# On CPU, matmuls stay in XLA's small library and convolutions go to Eigen, which uses all cores.
_CPU_OPTIONS = {
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
}

# The library takes products together with the loops after them: see `_engine/kernels/dot.py`.
_JOINED_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}

# For convolutions of small images: XLA's older kernels for loops compile in half the time there and
# run as fast. (Elsewhere they take longer: a small transformer 28 s instead of 5.)
_QUICK_OPTIONS = {"xla_cpu_use_fusion_emitters": False}
_SMALL = 1 << 18  # elements

# Over several devices XLA for CPU joins all sums of gradients into one, for which all of them are
# kept twice. One by one they take as long or less: 44 ms a step of a small transformer become 35.
_APART_OPTIONS = {"xla_disable_hlo_passes": "cpu-all-reduce-combiner"}


def options(graph: Graph | None = None) -> dict[str, Any] | None:
    """The compiler options for the current device and a graph."""
    if jax.default_backend() != "cpu":
        return None
    quick = _QUICK_OPTIONS if graph is not None and _is_small_with_images(graph) else {}
    return _CPU_OPTIONS | quick


def joined_options(graph: Graph, products: int) -> dict[str, Any] | None:
    """The options for a program whose number of `small_products` is known."""
    chosen = options(graph)
    return chosen | _JOINED_OPTIONS if chosen is not None and products else chosen


def small_products(graph: Graph) -> int:
    """The number of matrix products that are so small that XLA would run them on one core."""
    nodes = chain.from_iterable(nodes_by_graph(graph).values())
    return sum(map(_has_small_products, nodes)) if on_cpu() else 0


def spread_options(graph: Graph) -> dict[str, Any] | None:
    """The options for a program over several devices; `comm_fusion` may fuse gradient sums."""
    chosen, fusion = options(graph), parallel_settings()["comm_fusion"]
    is_joined = fusion["openstate"] and fusion["allreduce"]["mode"] != "auto"
    return chosen if chosen is None or is_joined else chosen | _APART_OPTIONS


def _has_small_products(node: Apply) -> bool:
    op = primitive_of(node)
    return isinstance(op, Op) and op.has_small_products(*[a.type for a in node.args])


def _is_small_with_images(graph: Graph) -> bool:
    """Whether a graph has convolutions, and no large arrays."""
    nodes = ordered(graph)
    if not any(isinstance(primitive_of(node), Conv2D) for node in nodes):
        return False
    return all(_elements(node.type) <= _SMALL for node in nodes)


def _elements(type_: Any) -> int:
    """The number of elements of the largest tensor of a type."""
    if isinstance(type_, tuple):
        return max(map(_elements, type_), default=0)
    return size(type_.shape) if isinstance(type_, TensorType) else 0


class ProgramCache(LRUDict):
    """A least-recently-used cache of compiled programs, keyed by operators and argument types.

    It is cleared when programs must be recompiled.
    """

    _all: ClassVar[list[ProgramCache]] = []
    generation: ClassVar[int] = 0  # how often the caches were cleared

    def __init__(self) -> None:
        super().__init__()
        self._all.append(self)


def forget_programs() -> None:
    """Clear all program caches, because the lowering of operators has changed."""
    ProgramCache.generation += 1
    for programs in ProgramCache._all:
        programs.clear()


def without_engine_frames(error: Exception) -> Exception:
    """Strip JAX's frames and notes from an error that was raised while tracing."""
    error.__dict__.pop("__notes__", None)
    error.__cause__ = None
    return error.with_traceback(None)


def kinds_of(arrays: Any) -> Any:
    """The key of arrays (in tuples or lists) for a program: their shapes and dtypes."""
    if isinstance(arrays, (tuple, list)):
        return tuple([kinds_of(array) for array in arrays])
    return None if arrays is None else (arrays.shape, arrays.dtype)


class _EngineState:
    is_started: ClassVar[bool] = False
    is_lost: ClassVar[bool] = False  # this process is a fork, without the threads of XLA


def start_engine() -> None:
    """Initialize JAX without interruptions, which it would not recover from."""
    if _EngineState.is_lost:
        raise problem(
            RuntimeError,
            "this process was forked from one that had used XLA, and lacks XLA's threads",
            got="a program to compile or run in the child process, which would deadlock",
            expected="processes that are spawned, or forked before the first operator",
            fix='start them with multiprocessing.get_context("spawn")',
        )
    if not _EngineState.is_started:
        uninterruptible(lambda: jax.jit(abs).lower(0))
        _EngineState.is_started = True


def _forked() -> None:
    """In a forked child process: disable everything that needs the threads of the parent."""
    if _EngineState.is_started:
        _EngineState.is_lost = True
        forget_programs()


os.register_at_fork(after_in_child=_forked)


def compile(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `fn`, once per combination of argument shapes and dtypes."""
    start_engine()
    return jax.jit(fn, compiler_options=options())
