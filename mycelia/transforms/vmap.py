"""Mapping a function over an axis of its arguments: vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from mycelia.compiler.building import Builder
from mycelia.compiler.forms import Form, form_of, leaf_data, widest_form_of
from mycelia.compiler.store import MISSING, Entry, Numbers, Place
from mycelia.compiler.tracer import Tracer, active_tracer
from mycelia.core.errors import problem, wrong_type
from mycelia.ir.control import Vmap
from mycelia.ir.node import Node
from mycelia.ir.slot import call
from mycelia.ir.value import type_of
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import Compiled


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """`fn` over an axis of its arguments, all at once.

    `in_axes` says which axis of each argument is mapped over: an int for all, or a structure of
    ints and None (not mapped) like the arguments; `out_axes` where that axis stands in the results.
    """
    if not callable(fn):
        raise wrong_type("vmap", "fn", fn, "a function, a Cell or a list of Cells")
    compiled = Compiled(lambda *args: _map(fn, in_axes, out_axes, args), "vmap")
    compiled.fn.__mycelia_native__ = True  # type: ignore[attr-defined]

    def run(*args: Any) -> Any:
        if active_tracer() is not None:
            return _map(fn, in_axes, out_axes, args)
        return compiled(*args)

    if hasattr(fn, "__name__"):
        update_wrapper(run, fn, updated=())
    run.compiled = compiled  # type: ignore[attr-defined]
    return run


def _map(fn: Callable[..., Any], in_axes: Any, out_axes: Any, args: tuple[Any, ...]) -> Any:
    tracer = active_tracer()
    assert tracer is not None
    form = widest_form_of(args)
    leaves = [value for value, _ in form.leaves(args)]
    axes = _axes("in_axes", in_axes, args, form)
    _check(leaves, axes)
    builder = Builder(getattr(fn, "__name__", "mapped"), tracer.builder, tracer.span)
    nodes = [
        builder.parameter(f"x{i}", _without(leaf, axis))
        for i, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))
    ]
    with tracer.building(builder), tracer.store.journal() as journal:
        tracer.store.write(Entry(tracer.world, "<needed>"), MISSING)
        result = call(fn, *form.build(iter(nodes)))
        result_form = form_of(result)
        data = [leaf_data(v, t) for v, t in result_form.leaves(result)]
        needed = tracer.world.get("<needed>")
        extra = [] if needed is None else [needed._data]
        builder.finish(builder.tuple((*data, *extra)))
        for place, _ in journal.take_back().values():
            _check_place(tracer, place)
    return _emit(tracer, builder, leaves, axes, result, result_form, out_axes)


def _check_place(tracer: Tracer, place: Place) -> None:
    """A mapped function may change its own variables, nothing that outlives it."""
    is_state = isinstance(place, Numbers) and id(place.tensor) in tracer.inputs
    is_world = isinstance(place, Entry) and place.holder is tracer.world
    is_world = is_world and getattr(place, "name", "") != "<needed>"
    if is_state or is_world:
        raise problem(
            RuntimeError,
            "vmap: the function changes a parameter, draws random numbers or prints",
            fix="do that outside of the mapped function",
        )


def _emit(
    tracer: Tracer,
    builder: Builder,
    leaves: list[Any],
    axes: list[int | None],
    result: Any,
    form: Form,
    out_axes: Any,
) -> Any:
    size = next(
        leaf.shape[axis] for leaf, axis in zip(leaves, axes, strict=True) if axis is not None
    )
    out = [0 if a is None else a for a in _axes("out_axes", out_axes, result, form)]
    types = builder.graph.output.type
    out = [a % (len(t.shape) + 1) for a, t in zip(out, types, strict=False)]
    count = len(out)
    out += [0] * (len(types) - count)
    mapped = Vmap(
        (*(None if a is None else a % len(x.shape) for a, x in zip(axes, leaves, strict=True)),
         *(None for _ in builder.captured)),
        tuple(out),
        size,
    )  # fmt: skip
    operands: list[Node] = [tracer.data_node(leaf) for leaf in leaves]
    type_ = tuple(_with(t, a, size) for t, a in zip(types, out, strict=True))
    args = (builder.graph, *operands, *builder.captured)
    node = tracer.builder.apply(mapped, args, type_, tracer.span)
    items = [tracer.builder.item(node, i) for i in range(len(types))]
    if len(items) > count:
        tracer.note_needed(Tensor._wrap(items[-1]).max())
    return form.build(iter(items[:count]))


def _axes(label: str, axes: Any, value: Any, form: Form) -> list[int | None]:
    """One axis for each leaf of a value."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(form.leaves(value))
    if not isinstance(axes, (tuple, list)) or not isinstance(value, (tuple, list)):
        raise wrong_type("vmap", label, axes, "int, None or a tuple of them")
    if len(axes) != len(value):
        raise problem(
            ValueError,
            f"vmap: {label} does not match the values it is for",
            got=f"{len(axes)} axes for {len(value)} values",
        )
    forms = getattr(form, "forms", ())
    triples = zip(axes, value, forms, strict=True)
    return [a for axis, v, f in triples for a in _axes(label, axis, v, f)]


def _check(leaves: list[Any], axes: list[int | None]) -> None:
    sizes = {}
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        if not -len(leaf.shape) <= axis < len(leaf.shape):
            raise problem(
                ValueError,
                f"vmap: axis {axis} is out of range",
                got=f"an argument of shape {leaf.shape}",
            )
        sizes[leaf.shape[axis]] = leaf.shape
    if len(sizes) != 1:
        raise problem(
            ValueError,
            "vmap: the mapped axes must all have one size, and one argument must be mapped",
            got=f"sizes {sorted(sizes)}",
        )


def _without(leaf: Tensor, axis: int | None) -> Any:
    type_ = type_of(leaf)
    if axis is None:
        return type_
    place = axis % len(type_.shape)
    return type_.with_shape(type_.shape[:place] + type_.shape[place + 1 :])


def _with(type_: Any, axis: int, size: int) -> Any:
    return type_.with_shape((*type_.shape[:axis], size, *type_.shape[axis:]))
