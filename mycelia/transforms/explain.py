"""`jit.explain`: the compiled programs of a function, and why and how each was compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.trace_function import TracedProgram
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.program import Program
from mycelia._engine.runtime.executor import Executable
from mycelia.transforms.jit import CompiledFunction, Specialization, jit

if TYPE_CHECKING:
    from mycelia._engine.parallel.pipeline.training_step import PipelinedStep

_VM = "vm: "  # starts the label of a function with a graph break


@dataclass(frozen=True)
class Explanation:
    """The report of `jit.explain`: compiled programs, reasons, compile times, and choices."""

    name: str
    labels: tuple[str, ...]  # "xla", with its sizes if they are dynamic, or "vm: reason"
    compilations: tuple[str, ...]
    graphs: tuple[int, ...]  # in each program after inlining and constant folding
    nodes: tuple[int, ...]
    seconds: tuple[dict[str, float], ...]  # of each stage
    choices: tuple[dict[str, int], ...]  # of operators, layouts, and kernels, with their counts

    def __str__(self) -> str:
        lines = [f"{self.name}: compiled {len(self.compilations)} times"]
        lines += [f"  {i}. {why}" for i, why in enumerate(self.compilations, start=1)]
        rows = zip(self.labels, self.graphs, self.nodes, self.seconds, self.choices, strict=True)
        for number, (label, graphs, nodes, seconds, choices) in enumerate(rows, start=1):
            times = ", ".join(f"{stage} {time * 1000:.0f} ms" for stage, time in seconds.items())
            size = f", {graphs} graphs, {nodes} nodes; {times}" if graphs else ""
            if label.startswith(_VM):
                label = f"graph break, falls back to the interpreter: {label.removeprefix(_VM)}"
            lines.append(f"  compiled program {number}: {label}{size}")
            if choices:
                chosen = ", ".join(f"{count} {what}" for what, count in choices.items())
                lines.append(f"    chosen: {chosen}")
        return "\n".join(lines)


def explain(fn: Any) -> Explanation:
    """Report the compiled programs of a function or cell, and why and how each was compiled.

    The report also names the reason for each graph break, where the function falls back to the
    interpreter.
    """
    compiled = getattr(fn, "compiled", None) or getattr(fn, "__dict__", {}).get("_program")
    if compiled is None:
        raise problem(TypeError, "explain: this function has not been compiled", got=repr(fn))
    programs = _programs(compiled)
    bodies = [nodes_by_graph(p.program.graph) if p.program else {} for p in programs]
    return Explanation(
        compiled.name,
        tuple(p.label for p in programs),
        tuple(compiled.history),
        tuple(map(len, bodies)),
        tuple(sum(map(len, body.values())) for body in bodies),
        tuple(_stages(p) for p in programs),
        tuple(p.choices for p in programs),
    )


@dataclass(frozen=True)
class _ExplainedProgram:
    """One program of a compiled function, as the report shows it."""

    label: str
    read: TracedProgram | None
    executable: Executable | PipelinedStep | None

    @property
    def program(self) -> Program | None:
        return None if self.executable is None else self.executable.program

    @property
    def choices(self) -> dict[str, int]:
        found = {} if self.executable is None else self.executable.choices
        narrowed = 0 if self.read is None else self.read.narrowed
        return {"operators narrowed to used elements": narrowed} | found if narrowed else found


def _programs(compiled: CompiledFunction) -> list[_ExplainedProgram]:
    """The distinct programs of a compiled function, in the order of their first calls."""
    entries = []
    for entry in compiled.entries.values():
        entries += [entry] if entry.by_value is None else list(entry.by_value.values())
    found = {}
    for entry in entries:
        if entry.fitted is not None:
            shared = entry.fitted.shared
            found[id(shared)] = _ExplainedProgram(
                shared.label, shared.bucket.padded, shared.executable
            )
        else:
            found[id(entry)] = _ExplainedProgram(_label(entry), entry.read, entry.executable)
    return list(found.values())


def _label(entry: Specialization) -> str:
    if entry.vm_reason:
        return f"{_VM}{entry.vm_reason}"
    return f"xla, of exact size {entry.exact_because}" if entry.exact_because else "xla"


def _stages(program: _ExplainedProgram) -> dict[str, float]:
    found = dict(program.read.seconds) if program.read is not None else {}
    executable = program.executable
    if executable is not None and executable.first_run is not None:
        was = "program from disk" if executable.was_on_disk else "XLA"
        found[f"first run with {was}"] = executable.first_run
    return found


jit.explain = explain  # type: ignore[attr-defined]
