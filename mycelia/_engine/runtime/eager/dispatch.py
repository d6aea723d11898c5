"""Eager dispatch of one operator: convert arguments, run a host kernel or XLA program, wrap."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.seed import next_key
from mycelia._engine.core.source_location import current_span
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.ir.primitive import Primitive, tagged
from mycelia._engine.ir.rule_errors import RULE_ERRORS, raise_explained
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op
from mycelia._engine.runtime.distributed.multiprocess_jit import between, needs_other_processes
from mycelia._engine.runtime.distributed.stage_arrays import StageArraysFlag, move_to_default_device
from mycelia._engine.runtime.eager.atomic_calls import run_atomically
from mycelia._engine.runtime.eager.thread_mode import thread_mode
from mycelia._engine.runtime.index_checks import check_call
from mycelia._engine.runtime.uninterruptible import first_call
from mycelia._engine.runtime.xla.compile import (
    ProgramCache,
    compile,
    kinds_of,
    without_engine_frames,
)
from mycelia.tensor.consumed_array import ConsumedArray, check_not_consumed
from mycelia.tensor.promotion import have_same_dtype, not_a_tensor, promote
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import relate

_programs = ProgramCache()


def dispatch(op: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `op` on tensors immediately, and record the call if a tape is active.

    Two small host tensors of the same dtype take a fast path, written inline: each function call
    and each lookup of the thread mode would cost as much as the sum itself. The slow path explains
    wrong arguments.
    """
    kernel = op.pair_kernel
    if kernel is not None and len(args) == 2 and not kwargs:
        x, y = args
        if (type(y) is float or type(y) is int) and type(x) is Tensor and op.promotes:
            x, y = args = promote(op, args)
        if type(x) is Tensor and type(y) is Tensor and not x._shared and not y._shared:
            a, b, run = x._data, y._data, thread_mode.at_once
            if (
                run is not None
                and type(a) is ndarray
                and type(b) is ndarray
                and a.dtype is b.dtype
                and a.size <= op.host_limit >= b.size
            ):
                try:
                    result = run(kernel, a, b)
                except (ValueError, TypeError, IndexError):
                    return _dispatch(op, args, kwargs)
                if type(result) is ndarray:
                    return Tensor._wrap(result)
                return _wrap(_host_arrays(result))
    return _dispatch(op, args, kwargs)


def _dispatch(op: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arguments = op.arguments
    if kwargs or arguments.static or len(args) != len(arguments.names):
        args, static = arguments.bind(op.name, args, kwargs)
    else:
        static = ()
    if op.promotes and not have_same_dtype(args):
        args = promote(op, args)
    if op.draws:
        args = (*args, Tensor._wrap(next_key()))
    arrays = tuple(
        [a._data if type(a) is Tensor and not a._shared else _array(op, a) for a in args]
    )
    result = _run(op, arrays, static)
    updates: tuple[Any, ...] = ()
    if op.writes:
        result, updates = result
    wrapped = _wrap(result)
    recording = thread_mode.recording
    if recording is not None and op.differentiable:
        recording.record(op, static, args, arrays, wrapped)
    if op.view is not None and handlers.before_write is None and not thread_mode.inline:
        relate(op, args[0], args[1:], static, wrapped)
    if updates:
        run_atomically(_write, op, args, updates)
        if result is None:
            return args[arguments.names.index(op.writes[0])]
    return wrapped


def _run(op: Primitive, arrays: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
    if thread_mode.inline:
        return _inlined(op, op.arguments.merge(arrays, static))
    if op.bounds is not None:
        check_call(op, op.arguments.merge(arrays, static))
    if op.host is not None:
        if op.host_only:
            return _run_on_host(op, _fetched(arrays), static)
        if _on_host(op, arrays):
            return _run_on_host(op, arrays, static)
    key = (op, tagged(static), kinds_of(arrays))
    program = _programs.use(key)
    is_new = program is None
    if program is None:
        checked = _checked(op, static)
        program = between(op, checked) if needs_other_processes(op) else compile(checked)
        _programs.keep(key, program)
    if StageArraysFlag.present:
        arrays = move_to_default_device(arrays)
    if ConsumedArray.present:
        check_not_consumed(arrays)
    try:
        return first_call(program, *arrays) if is_new else program(*arrays)
    except Exception as error:
        raise without_engine_frames(error) from None


def _inlined(op: Primitive, args: tuple[Any, ...]) -> Any:
    """Lower an operator into the program that is being traced."""
    try:
        return op.lower(*args)
    except RULE_ERRORS as error:
        raise_explained(op, _types(args), error, current_span())


def _on_host(op: Primitive, arrays: tuple[Any, ...]) -> bool:
    limit = op.host_limit
    for array in arrays:
        if type(array) is ndarray:
            if array.size > limit:
                return False
        elif isinstance(array, tuple):
            if not _on_host(op, array):
                return False
        elif not isinstance(array, np.generic):
            return False
    return True


def _run_on_host(op: Primitive, arrays: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
    """Run the host kernel: for small host arrays, NumPy computes the same without a dispatch."""
    kernel: Any = op.host
    try:
        if static:
            arrays = op.arguments.merge(arrays, static)
        result = kernel(*arrays) if op.host_only else thread_mode.quietly(kernel, *arrays)
    except (ValueError, TypeError, IndexError) as error:
        if op.calls_python:
            raise
        _raise_explained_on_host(op, _types(arrays), error)
    return _host_arrays(result)


def _raise_explained_on_host(op: Primitive, types: tuple[Any, ...], error: Exception) -> NoReturn:
    """Raise the error of the operator's type check for these arguments, or else NumPy's error."""
    try:
        op.infer(*types)
    except RULE_ERRORS as better:
        error = better
    raise_explained(op, types, error, current_span())


def _host_arrays(result: Any) -> Any:
    """Convert the results of a host kernel to arrays: NumPy returns 0-d results as scalars."""
    if type(result) is ndarray:
        return result
    if isinstance(result, tuple):
        return tuple([np.asarray(r) for r in result])
    return np.asarray(result)


def _fetched(arrays: Any) -> Any:
    if isinstance(arrays, tuple):
        return tuple([_fetched(a) for a in arrays])
    return None if arrays is None else np.asarray(arrays)


def _checked(op: Primitive, static: tuple[Any, ...]) -> Any:
    """`op.lower` preceded by `infer`, once per program, so that errors come from the operator."""
    merge = op.arguments.merge
    has_infer = type(op).infer is not Op.infer

    def run(*arrays: Any) -> Any:
        types = _types(arrays)
        try:
            if has_infer:
                op.infer(*merge(types, static))
            return op.lower(*merge(arrays, static))
        except RULE_ERRORS as error:
            raise_explained(op, merge(types, static), error, current_span())

    run.__name__ = op.name
    return run


def _types(arrays: Any) -> Any:
    if isinstance(arrays, tuple):
        return tuple(_types(a) for a in arrays)
    if not hasattr(arrays, "dtype"):
        return arrays
    return TensorType(dtypes.from_numpy(arrays.dtype), tuple(arrays.shape))


def _array(op: Primitive, value: Any) -> Any:
    if isinstance(value, Tensor):
        array = value._data
        return array.copy() if value._shared and type(array) is ndarray else array
    if value is None or isinstance(value, np.generic):
        return value
    if isinstance(value, (tuple, list)) and op.takes_sequences:
        return tuple([_array(op, v) for v in value])
    raise not_a_tensor(op, value)


def _wrap(result: Any) -> Any:
    if type(result) is ndarray:
        return Tensor._wrap(result)
    if isinstance(result, (tuple, list)):
        return tuple([_wrap(r) for r in result])
    return None if result is None else Tensor._wrap(result)


def _write(op: Primitive, args: tuple[Any, ...], updates: tuple[Any, ...]) -> None:
    for name, update in zip(op.writes, updates, strict=True):
        target = args[op.arguments.names.index(name)]
        if update is None:
            continue
        if isinstance(target, Tensor):
            target._replace(update)
        else:
            for one, new in zip(target, update, strict=True):
                one._replace(new)
