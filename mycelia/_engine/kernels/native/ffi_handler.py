"""What XLA calls: a kernel's parts, run by the threads of XLA that have time.

XLA hands over a frame (`xla/ffi/api/c_api.h` of jaxlib, version 0.3), in which everything has its
place. Who calls takes parts until none is left, and so does each task given to XLA's threads. Then
it waits for parts that others took, never for tasks that nobody began: no thread can be
waited for that waits itself. A task that comes late finds no part left; what all share is freed by
the last to leave.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from mycelia._engine.kernels.native.llvm_builder import ADDRESS, INDEX, LlvmBuilder, Value

_VERSION = (0, 3)
_SMALL = ir.IntType(32)
_NOTHING = ir.Constant(ADDRESS, None)
_WORD = 8  # bytes of an address or an index

# Places in XLA's structures, in bytes.
_EXTENSION, _API, _CONTEXT, _ARGUMENTS, _RESULTS = 8, 16, 24, 72, 112  # of a frame
_KIND, _METADATA, _IS_METADATA = 8, 24, 1  # of an extension
_MAJOR, _MINOR, _TRAITS = 24, 28, 32  # of metadata
_DATA, _SIZES = 24, 40  # of a buffer
_DESTROY_ERROR, _SCHEDULE = 64, 136  # of the functions that XLA offers

# Places in what the threads of one call share, in bytes; the addresses of buffers come first.
_PLACES = ("next", "done", "users")


@dataclass(frozen=True)
class KernelSignature:
    """What a kernel is given: buffers, and sizes by the buffer and the axis they belong to.

    A kernel is a function of the addresses of the buffers, the sizes, and the number of its part.
    """

    arguments: int
    results: int
    sizes: tuple[tuple[int, int], ...]
    parts: int

    @property
    def buffers(self) -> int:
        return self.arguments + self.results

    @property
    def types(self) -> list[ir.Type]:
        """Of a kernel's parameters."""
        return [ADDRESS] * self.buffers + [INDEX] * (len(self.sizes) + 1)


def write_handler(
    module: ir.Module, name: str, kernel: ir.Function, given: KernelSignature
) -> None:
    """The function `name`, which XLA may call to have all parts of `kernel` run."""
    FfiHandler(module, kernel, given).write(name)


class FfiHandler:
    """Writes the functions between XLA and a kernel."""

    def __init__(self, module: ir.Module, kernel: ir.Function, given: KernelSignature) -> None:
        self.module, self.kernel, self.given = module, kernel, given
        first = given.buffers + len(given.sizes)
        self.places = {place: (first + i) * _WORD for i, place in enumerate(_PLACES)}
        self.bytes = (first + len(_PLACES)) * _WORD
        self.free = self._external("free", ir.VoidType(), ADDRESS)
        self.allocate = self._external("malloc", ADDRESS, INDEX)
        self.pause = self._external("llvm.x86.sse2.pause", ir.VoidType())
        self.leave = self._leave()
        self.work = self._work()

    def write(self, name: str) -> None:
        handler = ir.Function(self.module, ir.FunctionType(ADDRESS, [ADDRESS]), name)
        (frame,) = handler.args
        w = LlvmBuilder(handler, 1)
        extension = _field(w, frame, _EXTENSION)
        with w.builder.if_then(w.builder.icmp_unsigned("!=", extension, _NOTHING)):
            kind = _field(w, extension, _KIND, _SMALL)
            wanted = ir.Constant(_SMALL, _IS_METADATA)
            with w.builder.if_then(w.builder.icmp_unsigned("==", kind, wanted)):
                metadata = _field(w, extension, _METADATA)
                for place, value in zip((_MAJOR, _MINOR, _TRAITS), (*_VERSION, 0), strict=True):
                    w.builder.store(ir.Constant(_SMALL, value), _byte(w, metadata, place))
                w.builder.ret(_NOTHING)
        shared = w.builder.call(self.allocate, [w.index(self.bytes)])
        self._fill(w, frame, shared)
        with w.loop(1, self.given.parts):
            self._schedule(w, frame, shared)
        w.builder.call(self.work, [shared])
        self._wait(w, shared)
        w.builder.call(self.leave, [shared])
        w.builder.ret(_NOTHING)

    def _fill(self, w: LlvmBuilder, frame: Value, shared: Value) -> None:
        """Copy addresses and sizes of the buffers; everyone to come counts as a user."""
        buffers = []
        for place, count in ((_ARGUMENTS, self.given.arguments), (_RESULTS, self.given.results)):
            given = _field(w, frame, place)
            buffers += [_field(w, given, i * _WORD) for i in range(count)]
        for i, buffer in enumerate(buffers):
            w.builder.store(_field(w, buffer, _DATA), _byte(w, shared, i * _WORD))
        for i, (buffer, axis) in enumerate(self.given.sizes, len(buffers)):
            sizes = _field(w, buffers[buffer], _SIZES)
            size = _field(w, sizes, axis * _WORD, INDEX)
            w.builder.store(size, _byte(w, shared, i * _WORD))
        # Those that work: each task, and the caller, who leaves twice.
        for name, value in zip(_PLACES, (0, 0, self.given.parts + 1), strict=True):
            w.builder.store(w.index(value), _byte(w, shared, self.places[name]))

    def _schedule(self, w: LlvmBuilder, frame: Value, shared: Value) -> None:
        """Give XLA a task; if it takes none, the caller does the work of it."""
        api = _field(w, frame, _API)
        task = (_field(w, frame, _CONTEXT), self.work, shared)
        error = _call_api(w, api, _SCHEDULE, ADDRESS, task)
        with w.builder.if_then(w.builder.icmp_unsigned("!=", error, _NOTHING)):
            _call_api(w, api, _DESTROY_ERROR, ir.VoidType(), (error,))
            w.builder.call(self.leave, [shared])

    def _work(self) -> ir.Function:
        """Take parts until none is left, then leave."""
        kind = ir.FunctionType(ir.VoidType(), [ADDRESS])
        work = ir.Function(self.module, kind, f"{self.kernel.name}.work")
        (shared,) = work.args
        w = LlvmBuilder(work, 1)
        values = [_field(w, shared, i * _WORD) for i in range(self.given.buffers)]
        for i in range(self.given.buffers, self.given.buffers + len(self.given.sizes)):
            values.append(_field(w, shared, i * _WORD, INDEX))
        again, run, end = (work.append_basic_block() for _ in range(3))
        w.builder.branch(again)
        w.builder.position_at_end(again)
        part = self._count(w, shared, "next", 1)
        w.builder.cbranch(w.is_less(part, self.given.parts), run, end)
        w.builder.position_at_end(run)
        w.builder.call(self.kernel, [*values, part])
        self._count(w, shared, "done", 1)
        w.builder.branch(again)
        w.builder.position_at_end(end)
        w.builder.call(self.leave, [shared])
        w.builder.ret_void()
        return work

    def _wait(self, w: LlvmBuilder, shared: Value) -> None:
        """Until all parts are done."""
        again, rest, end = (w.function.append_basic_block() for _ in range(3))
        w.builder.branch(again)
        w.builder.position_at_end(again)
        place = _byte(w, shared, self.places["done"])
        done = w.builder.load_atomic(place, "acquire", _WORD, typ=INDEX)
        w.builder.cbranch(w.is_less(done, self.given.parts), rest, end)
        w.builder.position_at_end(rest)
        w.builder.call(self.pause, [])
        w.builder.branch(again)
        w.builder.position_at_end(end)

    def _leave(self) -> ir.Function:
        """A user less; the last one frees what they shared."""
        kind = ir.FunctionType(ir.VoidType(), [ADDRESS])
        leave = ir.Function(self.module, kind, f"{self.kernel.name}.leave")
        (shared,) = leave.args
        w = LlvmBuilder(leave, 1)
        before = self._count(w, shared, "users", -1)
        with w.builder.if_then(w.builder.icmp_signed("==", before, w.index(1))):
            w.builder.call(self.free, [shared])
        w.builder.ret_void()
        return leave

    def _count(self, w: LlvmBuilder, shared: Value, place: str, change: int) -> Value:
        """Change a number that all threads see; gives what it was."""
        address = _byte(w, shared, self.places[place])
        return w.builder.atomic_rmw("add", address, w.index(change), "acq_rel")

    def _external(self, name: str, result: ir.Type, *arguments: ir.Type) -> ir.Function:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)


def _byte(w: LlvmBuilder, base: Value, place: int) -> Value:
    return w.builder.gep(base, [w.index(place)], source_etype=ir.IntType(8))


def _field(w: LlvmBuilder, base: Value, place: int, kind: ir.Type = ADDRESS) -> Value:
    return w.builder.load(_byte(w, base, place), typ=kind)


def _call_api(
    w: LlvmBuilder, api: Value, place: int, result: ir.Type, given: tuple[Value, ...]
) -> Value:
    """Call a function that XLA offers, with a structure of addresses after its size."""
    count = len(given) + 2
    with w.builder.goto_entry_block():
        structure = w.builder.alloca(ADDRESS, count)
    w.builder.store(w.index(count * _WORD), structure)
    for i, value in enumerate((_NOTHING, *given), 1):
        w.builder.store(value, _byte(w, structure, i * _WORD))
    function = ir.PointerType(ir.FunctionType(result, [ADDRESS]))
    return w.builder.call(w.builder.load(_byte(w, api, place), typ=function), [structure])
