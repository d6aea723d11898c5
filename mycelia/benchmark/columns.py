"""The columns of the table: frameworks, and how they run a workload."""

from __future__ import annotations

from dataclasses import dataclass, field

from mycelia._engine.runtime.memory import allocator

OURS = "mycelia"
_MINDSPORE = {"MYCELIA_BENCHMARK_FRAMEWORK": "mindspore"}


@dataclass(frozen=True)
class FrameworkColumn:
    """A framework, and how it is used."""

    name: str
    peer: str  # the environment that runs it
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
    FrameworkColumn("torch eager", "torch", "torch_nets", "modules in eager mode"),
    FrameworkColumn(
        "torch.compile",
        "torch",
        "torch_nets",
        "modules in torch.compile, default mode; eager optimizer",
        ("compile",),
    ),
    FrameworkColumn(
        "torch eager + malloc",
        "torch",
        "torch_nets",
        "modules, with glibc set to keep freed memory in huge pages",
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
    # With AVX-512, MindSpore's convolutions take up to 70 times as long as without.
    FrameworkColumn(
        "mindspore graph + AVX2",
        "mindspore",
        "cell_nets",
        "the same, with AVX-512 disabled in oneDNN",
        environment=_MINDSPORE | {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    ),
)

PEERS = tuple(dict.fromkeys(c.peer for c in COLUMNS if c.peer != OURS))
