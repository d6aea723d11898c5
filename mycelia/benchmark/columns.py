"""The ways to run a workload: one column of the table each."""

from __future__ import annotations

from dataclasses import dataclass, field

from mycelia._engine.runtime.memory import allocator

OURS = "mycelia"
_MINDSPORE = {"MYCELIA_BENCHMARK_FRAMEWORK": "mindspore"}


@dataclass(frozen=True)
class FrameworkColumn:
    """A framework, and how it is used."""

    name: str
    peer: str  # whose Python runs it
    module: str  # the worker
    about: str
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


COLUMNS = (
    FrameworkColumn(
        OURS,
        OURS,
        "cell_nets",
        "cells in graph mode",
        environment={"MYCELIA_BENCHMARK_FRAMEWORK": "mycelia"},
    ),
    FrameworkColumn("torch eager", "torch", "torch_nets", "modules, as they are"),
    FrameworkColumn(
        "torch.compile",
        "torch",
        "torch_nets",
        "modules in torch.compile, default mode; optimizer as it is",
        ("compile",),
    ),
    FrameworkColumn(
        "torch eager + malloc",
        "torch",
        "torch_nets",
        "modules, with glibc told to keep freed memory in large pages",
        ("malloc", allocator.__file__),
    ),
    FrameworkColumn("jax.jit", "jax", "jax_nets", "plain jax, step in one jit, state donated"),
    FrameworkColumn(
        "mindspore graph",
        "mindspore",
        "cell_nets",
        "the same source as Mycelia, GRAPH_MODE",
        environment=_MINDSPORE,
    ),
    # With AVX-512, convolutions of MindSpore take up to 70 times as long as without.
    FrameworkColumn(
        "mindspore graph + AVX2",
        "mindspore",
        "cell_nets",
        "the same, with its library (oneDNN) told to leave AVX-512 alone",
        environment=_MINDSPORE | {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    ),
)

PEERS = tuple(dict.fromkeys(c.peer for c in COLUMNS if c.peer != OURS))
