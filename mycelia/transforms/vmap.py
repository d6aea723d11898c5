"""`vmap`: vectorizes a function over an axis of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    Location,
    TensorLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber
from mycelia._engine.compiler.frontend.tracer import Tracer, active_tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.ir.control_flow import Vmap
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import type_of
from mycelia.ops.shapes.concat import stack
from mycelia.tensor.nested import leaves_of, mapped
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import CompiledFunction

_PLAIN = (bool, int, float)


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Vectorize `fn` over an axis of its arguments.

    `in_axes` selects the mapped axis of each argument: an int for all, or a structure of ints and
    None (not mapped) like the arguments. `out_axes` is the index of the mapped axis in the results.
    A CellList is a model ensemble: each cell receives its slice of the mapped arguments.
    """
    compiled = CompiledFunction(lambda *args: _map(fn, in_axes, out_axes, args), "vmap")
    compiled.fn.__mycelia_native__ = True  # type: ignore[attr-defined]

    def run(*args: Any) -> Any:
        if active_tracer() is not None:
            return _map(fn, in_axes, out_axes, args)
        try:
            return compiled(*args)
        except Exception as error:
            shorten(error)
            raise

    if hasattr(fn, "__name__"):
        update_wrapper(run, fn, updated=())
    run.compiled = compiled  # type: ignore[attr-defined]
    return run


def _map(fn: Callable[..., Any], in_axes: Any, out_axes: Any, args: tuple[Any, ...]) -> Any:
    tracer = active_tracer()
    assert tracer is not None
    if not args:
        return call_user_function(fn)
    cells = _ensemble(fn)
    pairs = _spread("in_axes", in_axes, args)
    leaves = [leaf for leaf, _ in pairs if isinstance(leaf, Tensor)]
    axes = [axis for leaf, axis in pairs if isinstance(leaf, Tensor)]
    size = _checked_size(pairs, cells)
    weights = [stack(column) for column in _columns(cells)]
    leaves, axes = [*weights, *leaves], [*([0] * len(weights)), *axes]
    builder = GraphBuilder(getattr(fn, "__name__", "mapped"), tracer.builder, tracer.span)
    nodes = [
        builder.parameter(f"x{i}", _without(leaf, axis))
        for i, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))
    ]
    with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
        tracer.store.write(VariableLocation(tracer.world, "<needed>"), MISSING)
        with _weights_of(cells, nodes[: len(weights)]):
            rest = iter(nodes[len(weights) :])
            inner = mapped(lambda leaf: _inside(leaf, rest), args)
            result = call_user_function(cells[0] if cells else fn, *inner)
        is_mapped = {n for n, axis in zip(nodes, axes, strict=True) if axis is not None}
        outputs = [
            _Output(tracer, leaf, axis, is_mapped)
            for leaf, axis in _spread("out_axes", out_axes, result, bool(cells))
        ]
        needed = tracer.world.get("<needed>")
        extra = [] if needed is None else [needed._data]
        data = [o.node for o in outputs if o.node is not None]
        builder.finish(builder.tuple((*data, *extra)))
        for place, _ in journal.take_back().values():
            _check_place(tracer, place)
    places = [o.place for o in outputs if o.node is not None]
    items = _emit(tracer, builder, leaves, axes, places, size)
    if extra:
        tracer.note_needed(Tensor._wrap(items.pop()).max())
    found, all_outputs = iter(items), iter(outputs)
    return mapped(lambda _: next(all_outputs).outside(found, size), result)


class _Output:
    """One tensor or number that a mapped function returns, and its output axis."""

    def __init__(self, tracer: Tracer, leaf: Any, axis: int | None, is_mapped: set[Any]) -> None:
        if not isinstance(leaf, (Tensor, *_PLAIN)):
            raise _wrong("the function may return tensors and numbers only", type(leaf).__name__)
        self.leaf, self.axis = leaf, axis
        self.node = tracer.data_node(leaf) if isinstance(leaf, Tensor) else None
        rank = 0 if self.node is None else len(self.node.type.shape)
        if axis is not None and not -rank - 1 <= axis <= rank:
            raise _wrong("an axis of out_axes is out of range", f"{axis} for {rank} axes")
        if axis is None and self.node is not None and _depends(self.node, is_mapped):
            raise _wrong("out_axes cannot be None for a mapped result", repr(self.node.type))
        self.place = 0 if axis is None else axis % (rank + 1)

    def outside(self, items: Iterator[GraphNode], size: int) -> Any:
        """The value that the caller sees; arrays are taken from `items`."""
        if self.node is None:
            return self.leaf if self.axis is None else stack((Tensor(self.leaf),) * size)
        tensor = Tensor._wrap(next(items))
        if self.axis is not None:
            return tensor
        same = tensor[0]
        return (
            SymbolicNumber.of(same._data, self.leaf.kind)
            if isinstance(self.leaf, SymbolicNumber)
            else same
        )


def _emit(
    tracer: Tracer,
    builder: GraphBuilder,
    leaves: Sequence[Tensor],
    axes: Sequence[int | None],
    places: list[int],
    size: int,
) -> list[GraphNode]:
    """Add the map node to the program and return its results."""
    types = builder.graph.output.type
    places = [*places, *([0] * (len(types) - len(places)))]
    in_axes = [None if a is None else a % len(x.shape) for a, x in zip(axes, leaves, strict=True)]
    op = Vmap((*in_axes, *(None for _ in builder.captured)), tuple(places), size)
    operands = [tracer.data_node(leaf) for leaf in leaves]
    type_ = tuple([_with(t, a, size) for t, a in zip(types, places, strict=True)])
    node = tracer.builder.apply(
        op, (builder.graph, *operands, *builder.captured), type_, tracer.span
    )
    return [tracer.builder.item(node, i) for i in range(len(types))]


# ---- ensembles ----------------------------------------------------------------------------------


def _ensemble(fn: Any) -> list[Any]:
    """The cells of a model ensemble; empty for an ordinary function."""
    if isinstance(fn, (list, tuple)) or getattr(fn, "is_ensemble", False):
        cells = list(fn)
        if len(cells) < 2:
            raise _wrong("a model ensemble needs at least two cells", f"{len(cells)} cells")
        return cells
    if not callable(fn) or isinstance(fn, Primitive):
        raise _wrong("fn must be a function, a Cell, or a CellList", repr(fn))
    return []


def _columns(cells: list[Any]) -> list[tuple[Tensor, ...]]:
    """The parameters of an ensemble grouped by name: one from each cell."""
    parameters = [list(cell.get_parameters()) for cell in cells]
    shapes = [[(p.shape, p.dtype) for p in own] for own in parameters]
    if any(own != shapes[0] for own in shapes[1:]):
        raise problem(
            ValueError,
            "vmap: the cells of a model ensemble have different parameters",
            got=f"{[len(own) for own in shapes]} parameters",
            expected="parameters of the same shapes and dtypes in each cell",
        )
    return list(zip(*parameters, strict=True))


@contextmanager
def _weights_of(cells: list[Any], nodes: Sequence[GraphNode]) -> Iterator[None]:
    """Inside the block, the first cell holds the weights that the nodes represent."""
    parameters = list(cells[0].get_parameters()) if cells else []
    before = [parameter._data for parameter in parameters]
    for parameter, node in zip(parameters, nodes, strict=True):
        parameter._data = node
    try:
        yield
    finally:
        for parameter, data in zip(parameters, before, strict=True):
            parameter._data = data


# ---- axes ---------------------------------------------------------------------------------------


def _spread(
    label: str, axes: Any, value: Any, is_ensemble: bool = True
) -> list[tuple[Any, int | None]]:
    """Pair every leaf of a value with its axis."""
    pairs = _pairs(label, axes, value)
    if not is_ensemble and pairs and all(axis is None for _, axis in pairs):
        raise _wrong(f"{label} cannot be None for all values", f"{label}={axes!r}")
    return pairs


def _pairs(label: str, axes: Any, value: Any) -> list[tuple[Any, int | None]]:
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [(leaf, axes) for leaf in leaves_of(value)]
    if not isinstance(axes, (tuple, list)):
        raise _wrong(f"{label} must hold ints and None", f"{label}={axes!r}")
    if not isinstance(value, (tuple, list)) or len(axes) != len(value):
        count = len(value) if isinstance(value, (tuple, list)) else 1
        raise _wrong(f"{label} does not match its values", f"{len(axes)} axes for {count} values")
    return [
        pair for axis, part in zip(axes, value, strict=True) for pair in _pairs(label, axis, part)
    ]


def _checked_size(pairs: list[tuple[Any, int | None]], cells: list[Any]) -> int:
    """The size of the mapped axes."""
    sizes = set()
    for leaf, axis in pairs:
        if axis is None:
            continue
        if not isinstance(leaf, Tensor) or isinstance(leaf, SymbolicNumber):
            raise _wrong("only a Tensor can be mapped", f"axis {axis} for a {type(leaf).__name__}")
        if not -len(leaf.shape) <= axis < len(leaf.shape):
            raise _wrong(f"axis {axis} of in_axes is out of range", f"shape {leaf.shape}")
        sizes.add(leaf.shape[axis])
    if len(sizes) > 1:
        raise _wrong("the mapped axes must have the same size", f"sizes {sorted(sizes)}")
    if not sizes and not cells:
        raise _wrong("in_axes cannot be None for all arguments", "no mapped argument")
    size = sizes.pop() if sizes else len(cells)
    if cells and size != len(cells):
        raise problem(
            ValueError,
            "vmap: a model ensemble needs mapped axes with one element for each cell",
            got=f"size {size} for {len(cells)} cells",
        )
    return int(size)


def _wrong(what: str, got: str) -> RuntimeError:
    return problem(RuntimeError, f"vmap: {what}", got=got)


# ---- values inside ------------------------------------------------------------------------------


def _inside(leaf: Any, nodes: Iterator[GraphNode]) -> Any:
    """A leaf of the arguments as the mapped function sees it."""
    if isinstance(leaf, SymbolicNumber):
        return SymbolicNumber.of(next(nodes), leaf.kind)
    return Tensor._wrap(next(nodes)) if isinstance(leaf, Tensor) else leaf


def _depends(node: GraphNode, sources: set[Any]) -> bool:
    """Whether a node is computed from one of the sources."""
    seen: set[GraphNode] = set()
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node in sources:
            return True
        if node not in seen and isinstance(node, Apply):
            waiting += node.args
        seen.add(node)
    return False


def _check_place(tracer: Tracer, place: Location) -> None:
    """Check that a mapped function only changes local variables."""
    is_state = isinstance(place, TensorLocation) and id(place.tensor) in tracer.inputs
    is_world = isinstance(place, VariableLocation) and place.holder is tracer.world
    is_world = is_world and getattr(place, "name", "") != "<needed>"
    if is_state or is_world:
        raise problem(
            RuntimeError,
            "vmap: the function changes a parameter, draws random numbers, or prints",
            fix="move the side effect out of the mapped function",
        )


def _without(leaf: Tensor, axis: int | None) -> Any:
    type_ = type_of(leaf)
    if axis is None:
        return type_
    place = axis % len(type_.shape)
    return type_.with_shape(type_.shape[:place] + type_.shape[place + 1 :])


def _with(type_: Any, axis: int, size: int) -> Any:
    return type_.with_shape((*type_.shape[:axis], size, *type_.shape[axis:]))
