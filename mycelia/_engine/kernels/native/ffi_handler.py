"""The functions that XLA calls: they run a kernel's parts on XLA's free threads.

XLA passes a call frame (`xla/ffi/api/c_api.h` of jaxlib, version 0.3) with fixed field offsets.
The caller takes parts until none is left, and so does each task scheduled on XLA's threads. Then
the caller waits for parts that others took, but never for tasks that have not started, because a
thread that waits itself may be needed to run them. A task that starts late finds no part left. The
last user frees the shared state.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from mycelia._engine.kernels.native.llvm_builder import ADDRESS, INDEX, LlvmBuilder, Value

_VERSION = (0, 3)
_SMALL = ir.IntType(32)
_NOTHING = ir.Constant(ADDRESS, None)
_WORD = 8  # bytes of an address or an index

# Field offsets in XLA's structures, in bytes.
_EXTENSION, _API, _CONTEXT, _ARGUMENTS, _RESULTS = 8, 16, 24, 72, 112  # of a frame
_KIND, _METADATA, _IS_METADATA = 8, 24, 1  # of an extension
_MAJOR, _MINOR, _TRAITS = 24, 28, 32  # of metadata
_DATA, _SIZES = 24, 40  # of a buffer
_DESTROY_ERROR, _SCHEDULE = 64, 136  # of the functions that XLA offers

# Fields of the state that the threads of one call share; the buffer addresses come first.
_FIELDS = ("next", "done", "users")


@dataclass(frozen=True)
class KernelSignature:
    """The arguments of a kernel: buffers, and sizes given as (buffer, axis).

    A kernel is a function of the buffer addresses, the sizes, and the index of its part.
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
        """The LLVM types of a kernel's parameters."""
        return [ADDRESS] * self.buffers + [INDEX] * (len(self.sizes) + 1)


def write_handler(
    module: ir.Module, name: str, kernel: ir.Function, signature: KernelSignature
) -> None:
    """Write the function `name`, which XLA calls to run all parts of `kernel`."""
    FfiHandler(module, kernel, signature).write(name)


class FfiHandler:
    """Writes the glue functions between XLA and a kernel."""

    def __init__(self, module: ir.Module, kernel: ir.Function, signature: KernelSignature) -> None:
        self.module, self.kernel, self.signature = module, kernel, signature
        first = signature.buffers + len(signature.sizes)
        self.offsets = {field: (first + i) * _WORD for i, field in enumerate(_FIELDS)}
        self.bytes = (first + len(_FIELDS)) * _WORD
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
                for offset, value in zip((_MAJOR, _MINOR, _TRAITS), (*_VERSION, 0), strict=True):
                    w.builder.store(ir.Constant(_SMALL, value), _byte(w, metadata, offset))
                w.builder.ret(_NOTHING)
        shared = w.builder.call(self.allocate, [w.index(self.bytes)])
        self._fill(w, frame, shared)
        with w.loop(1, self.signature.parts):
            self._schedule(w, frame, shared)
        w.builder.call(self.work, [shared])
        self._wait(w, shared)
        w.builder.call(self.leave, [shared])
        w.builder.ret(_NOTHING)

    def _fill(self, w: LlvmBuilder, frame: Value, shared: Value) -> None:
        """Copy addresses and sizes of the buffers, and count all future users."""
        buffers = []
        for offset, count in (
            (_ARGUMENTS, self.signature.arguments),
            (_RESULTS, self.signature.results),
        ):
            array = _field(w, frame, offset)
            buffers += [_field(w, array, i * _WORD) for i in range(count)]
        for i, buffer in enumerate(buffers):
            w.builder.store(_field(w, buffer, _DATA), _byte(w, shared, i * _WORD))
        for i, (buffer, axis) in enumerate(self.signature.sizes, len(buffers)):
            sizes = _field(w, buffers[buffer], _SIZES)
            size = _field(w, sizes, axis * _WORD, INDEX)
            w.builder.store(size, _byte(w, shared, i * _WORD))
        # Users: each task, and the caller, who leaves twice.
        for name, value in zip(_FIELDS, (0, 0, self.signature.parts + 1), strict=True):
            w.builder.store(w.index(value), _byte(w, shared, self.offsets[name]))

    def _schedule(self, w: LlvmBuilder, frame: Value, shared: Value) -> None:
        """Schedule a task on XLA's threads; if XLA refuses, the caller does its work."""
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
        values = [_field(w, shared, i * _WORD) for i in range(self.signature.buffers)]
        for i in range(self.signature.buffers, self.signature.buffers + len(self.signature.sizes)):
            values.append(_field(w, shared, i * _WORD, INDEX))
        again, run, end = (work.append_basic_block() for _ in range(3))
        w.builder.branch(again)
        w.builder.position_at_end(again)
        part = self._count(w, shared, "next", 1)
        w.builder.cbranch(w.is_less(part, self.signature.parts), run, end)
        w.builder.position_at_end(run)
        w.builder.call(self.kernel, [*values, part])
        self._count(w, shared, "done", 1)
        w.builder.branch(again)
        w.builder.position_at_end(end)
        w.builder.call(self.leave, [shared])
        w.builder.ret_void()
        return work

    def _wait(self, w: LlvmBuilder, shared: Value) -> None:
        """Wait until all parts are done."""
        again, rest, end = (w.function.append_basic_block() for _ in range(3))
        w.builder.branch(again)
        w.builder.position_at_end(again)
        address = _byte(w, shared, self.offsets["done"])
        done = w.builder.load_atomic(address, "acquire", _WORD, typ=INDEX)
        w.builder.cbranch(w.is_less(done, self.signature.parts), rest, end)
        w.builder.position_at_end(rest)
        w.builder.call(self.pause, [])
        w.builder.branch(again)
        w.builder.position_at_end(end)

    def _leave(self) -> ir.Function:
        """Remove a user; the last one frees the shared state."""
        kind = ir.FunctionType(ir.VoidType(), [ADDRESS])
        leave = ir.Function(self.module, kind, f"{self.kernel.name}.leave")
        (shared,) = leave.args
        w = LlvmBuilder(leave, 1)
        before = self._count(w, shared, "users", -1)
        with w.builder.if_then(w.builder.icmp_signed("==", before, w.index(1))):
            w.builder.call(self.free, [shared])
        w.builder.ret_void()
        return leave

    def _count(self, w: LlvmBuilder, shared: Value, field: str, change: int) -> Value:
        """Atomically change a shared counter; returns its previous value."""
        address = _byte(w, shared, self.offsets[field])
        return w.builder.atomic_rmw("add", address, w.index(change), "acq_rel")

    def _external(self, name: str, result: ir.Type, *arguments: ir.Type) -> ir.Function:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)


def _byte(w: LlvmBuilder, base: Value, offset: int) -> Value:
    return w.builder.gep(base, [w.index(offset)], source_etype=ir.IntType(8))


def _field(w: LlvmBuilder, base: Value, offset: int, kind: ir.Type = ADDRESS) -> Value:
    return w.builder.load(_byte(w, base, offset), typ=kind)


def _call_api(
    w: LlvmBuilder, api: Value, offset: int, result: ir.Type, arguments: tuple[Value, ...]
) -> Value:
    """Call a function of XLA's API, with a structure of its size and addresses."""
    count = len(arguments) + 2
    with w.builder.goto_entry_block():
        structure = w.builder.alloca(ADDRESS, count)
    w.builder.store(w.index(count * _WORD), structure)
    for i, value in enumerate((_NOTHING, *arguments), 1):
        w.builder.store(value, _byte(w, structure, i * _WORD))
    function = ir.PointerType(ir.FunctionType(result, [ADDRESS]))
    return w.builder.call(w.builder.load(_byte(w, api, offset), typ=function), [structure])
