"""Views: tensors that share elements with another tensor, so that a write to one shows in all.

Arrays are never changed in place, so a view has a separate array and a relation: the tensor that
it views (the root) and the operators that lead from the root to the view. The root holds weak
references to its live views. A write to any of them replaces the array of the root and invalidates
the arrays of the other views, which are recomputed on the next access. Without writes, relations
cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, local
from typing import Any
from weakref import ref

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.handlers import Handlers, handlers
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia.ops.indexing.subscript import ARRAY, SubscriptAssign
from mycelia.ops.shapes.reshape import Reshape, StopGradient

_RESHAPE = Reshape.of()
_SEEN: dict[tuple[Any, ...], bool] = {}
_MOST_KNOWN = 4096
_FEWEST = 16  # references to views before dead ones are first removed


class TensorViews:
    """The live views of a root; dead references are removed now and then.

    All views but the newest keep the root alive, so that any two views share a root. The last view
    of a root that is gone becomes an ordinary tensor again.
    """

    __slots__ = ("home", "limit", "lock", "refs")

    def __init__(self, root: Any) -> None:
        self.refs: list[ref[Any]] = []
        self.limit = _FEWEST
        self.lock = Lock()
        self.settle(root)

    def settle(self, root: Any) -> None:
        """Attach the views to `root`."""
        self.home: ref[Any] = ref(root, self._free)

    def add(self, tensor: Any, root: Any) -> None:
        refs = self.refs
        if refs and (newest := refs[-1]()) is not None and type(newest._relation) is TensorView:
            newest._relation.keeper = root
        refs.append(ref(tensor))
        if len(refs) > self.limit:
            self._forget_dead()

    def live(self) -> list[Any]:
        """The live views of the root."""
        found = [tensor for one in self.refs if (tensor := one()) is not None]
        return [t for t in found if type(t._relation) is TensorView and t._relation.views is self]

    def outdate(self, root: Any) -> None:
        """Invalidate the arrays of all views."""
        for tensor in self.live():
            tensor._relation.keeper = root
            invalidate(tensor)

    def follow(self, root: Any) -> None:
        """Update the nodes of all views in a traced program and record them in its journal."""
        assert handlers.before_write is not None
        for tensor in self.live():
            handlers.before_write(tensor)
            tensor._data = _computed(tensor._relation, root)._data

    def _free(self, _: ref[Any]) -> None:
        """The root is gone: at most one view is left, and it shares elements with no tensor."""
        for tensor in self.live():
            tensor._relation = None

    def _forget_dead(self) -> None:
        """Remove dead references; other threads may add references meanwhile."""
        if self.lock.acquire(blocking=False):
            try:
                count = len(self.refs)
                self.refs[:count] = [one for one in self.refs[:count] if one() is not None]
                self.limit = max(_FEWEST, 2 * len(self.refs))
            finally:
                self.lock.release()


class TensorView:
    """The relation of a view to its root: an operator, applied after those of `before`."""

    __slots__ = ("before", "data", "is_traced", "keeper", "op", "part", "static", "views")

    def __init__(
        self,
        views: TensorViews,
        before: TensorView | None,
        op: Primitive,
        data: tuple[Any, ...],
        static: tuple[Any, ...],
        part: int | None,
    ) -> None:
        self.views = views
        self.keeper: Any = None  # the root, where the view keeps it alive
        self.before = before
        self.op = op
        self.data = data  # the arguments after the tensor
        self.static = static
        self.part = part  # of a result that is a tuple
        self.is_traced = handlers.before_write is not None  # created while a program is traced

    @property
    def root(self) -> Any:
        """The tensor whose elements the view shares."""
        return self.views.home() if self.keeper is None else self.keeper

    @property
    def steps(self) -> list[TensorView]:
        """The views from the root to this one."""
        found: list[TensorView] = [self]
        while (before := found[-1].before) is not None:
            found.append(before)
        return found[::-1]

    def as_step(self) -> TensorView:
        """This step for views of the view, without keeping the root alive."""
        return TensorView(self.views, self.before, self.op, self.data, self.static, self.part)

    def call(self, x: Any) -> tuple[Any, ...]:
        """The arguments of the operator for the tensor (or array) `x`."""
        return self.op.arguments.merge((x, *self.data), self.static)

    def seen(self, array: np.ndarray, *, at_start: bool = False) -> np.ndarray:
        """Apply the step in NumPy, without a copy; `at_start` treats all range starts as 0."""
        data = [0 if at_start else getattr(one, "_data", one) for one in self.data]
        assert self.op.view is not None
        found = self.op.view(*self.op.arguments.merge((array, *data), self.static))
        return found if self.part is None else found[self.part]

    def shown(self, x: Any) -> Any:
        """Apply the step as an operator call, which the tape records."""
        is_traced = self.is_traced or isinstance(x._data, GraphNode)
        is_tracing = is_traced and handlers.before_write is not None
        run = handlers.dispatch if is_tracing else Handlers.dispatch
        outer, _replay.is_running = _replay.is_running, True
        try:
            found = run(self.op, self.call(x), {})
        finally:
            _replay.is_running = outer
        return found if self.part is None else found[self.part]


class _Replay(local):
    """Whether this thread recomputes a view, whose intermediate results are not views."""

    is_running = False


_replay = _Replay()


def relate(
    op: Primitive, source: Any, data: tuple[Any, ...], static: tuple[Any, ...], result: Any
) -> None:
    """Register `result` of a call of `op` as a view of `source`."""
    if _replay.is_running:
        return
    relation = source._relation
    before = None
    root = source
    if relation is None:
        views = source._relation = TensorViews(source)
    elif type(relation) is TensorView:
        root, before, views = relation.root, relation.as_step(), relation.views
        if op.view_may_copy and not _is_seen(relation, op, static):
            return
    else:
        views = relation
    if type(result) is tuple:
        for part, one in enumerate(result):
            one._relation = TensorView(views, before, op, data, static, part)
            views.add(one, root)
            if source._shared:
                _share(one, source)
    else:
        result._relation = TensorView(views, before, op, data, static, None)
        views.add(result, root)
        if source._shared:
            _share(result, source)


def invalidate(tensor: Any) -> None:
    """Delete the array of a view; `refresh` recomputes it on the next access."""
    try:
        del tensor._data
        del tensor._mark
    except AttributeError:  # it has none already
        pass


def refresh(tensor: Any) -> bool:
    """Recompute the array of an invalidated view; returns False for other tensors."""
    view = tensor._relation
    if type(view) is not TensorView:
        return False
    root = view.root
    fresh = _computed(view, root)
    tensor._data, tensor._mark, tensor._shared = fresh._data, fresh._mark, False
    if root._shared:
        array = root._data
        for step in view.steps:
            array = step.seen(array)
        tensor._data, tensor._shared = array, True
    if view.views.refs[-1]() is tensor:  # the newest view keeps nothing alive
        view.keeper = None
    return True


def _computed(view: TensorView, root: Any) -> Any:
    """Compute a view of `root` as a new tensor."""
    for step in view.steps:
        root = step.shown(root)
    return root


def write(tensor: Any, new: Any) -> None:
    """Write `new` into a related tensor and into all tensors that share its elements."""
    relation = tensor._relation
    if type(relation) is not TensorView:
        _take(tensor, new, relation)
        return
    root, steps = relation.root, relation.steps
    changed = _put_back(root, steps, new)
    if not all(step.op.differentiable for step in steps):
        changed._mark = root._mark
    if handlers.before_write is not None:
        handlers.before_write(root)
    _take(root, changed, relation.views)
    if not root._shared:
        tensor._take(new)


def _take(root: Any, new: Any, views: Any) -> None:
    """Write `new` into a root.

    Views are invalidated first, so that they stay correct if an interruption stops the write.
    """
    if handlers.before_write is None:
        views.outdate(root)
    root._take(new)
    if handlers.before_write is not None:
        views.follow(root)


def renewed(tensor: Any) -> None:
    """Update the tensors that share elements with one whose array a program replaced.

    A program that writes a view of one of its tensors writes the tensor, too.
    """
    if type(tensor._relation) is not TensorView:
        tensor._relation.outdate(tensor)


def check_apart(written: Sequence[Any], others: Sequence[Any]) -> None:
    """Raise if a program wrote an argument that shares elements with another argument."""
    roots = {id(root_of(one)) for one in written}
    related_ones = {id(one): one for one in others if getattr(one, "_relation", None)}
    count = sum(id(root_of(one)) in roots for one in related_ones.values())
    if count > len(written):
        raise problem(
            RuntimeError,
            "a compiled function writes to an argument that shares elements with another one",
            expected="arguments that share no elements, where one is written",
            fix="pass a copy: x.copy(), or make the view inside of the function",
        )


def root_of(tensor: Any) -> Any:
    """The root of a view; any other tensor is its own root."""
    relation = getattr(tensor, "_relation", None)
    return relation.root if type(relation) is TensorView else tensor


def related(tensor: Any) -> list[Any]:
    """All tensors that a write to `tensor` changes: itself, its root, and the root's views."""
    relation = tensor._relation
    if relation is None:
        return [tensor]
    root, views = (
        (tensor, relation) if type(relation) is TensorViews else (relation.root, relation.views)
    )
    return [root, *views.live()]


def replace(tensor: Any, array: Any) -> None:
    """Replace the array of a related tensor; its gradient does not flow further back."""
    new = tensor._wrap(array)
    if type(tensor._relation) is not TensorView:
        new._mark = tensor._mark
        tensor._shared = False
    write(tensor, new)


def as_it_is(tensor: Any) -> Any:
    """A snapshot: a tensor with the same values and gradient that later writes do not change."""
    found = tensor._wrap(tensor._data)
    found._mark = tensor._mark
    return found


def follow(tensor: Any, new: Any) -> None:
    """Let gradients flow through `tensor`, which holds the values of `new`, as through `new`."""
    if tensor._relation is None:
        tensor._mark = new._mark
    elif new._mark is not None:
        write(tensor, new)


def numpy_of(view: Any) -> np.ndarray:
    """The values of a view: a copy, or the memory of its root if the view spans exactly that."""
    if all(type(step.op) is StopGradient for step in view._relation.steps):
        return view._relation.root.asnumpy()
    return np.array(view._data)


def part(tensor: Any) -> None:
    """Detach a tensor from its related tensors, which keep their values."""
    relation = tensor._relation
    if type(relation) is TensorViews:
        old = tensor._wrap(tensor._data)
        old._mark, old._shared, old._relation = tensor._mark, tensor._shared, relation
        relation.settle(old)
        for view in relation.live():
            view._relation.keeper = old
    tensor._relation = None


def _put_back(root: Any, steps: list[TensorView], new: Any) -> Any:
    """`root` after the view at the end of `steps` has become `new`."""
    if any(step.op.put_back is None for step in steps):
        _check_apart(root, steps)
        return _scattered(root, steps, new)
    inputs = [root]
    for step in steps[:-1]:
        inputs.append(step.shown(inputs[-1]))
    for step, x in zip(reversed(steps), reversed(inputs), strict=True):
        assert step.op.put_back is not None
        new = step.op.put_back(*step.call(x), new, *(() if step.part is None else (step.part,)))
    return new


def _scattered(root: Any, steps: list[TensorView], new: Any) -> Any:
    """The same for operators without an inverse: element by element."""
    places = root._wrap(np.arange(root.size).reshape(root.shape))
    for step in steps:
        places = step.shown(places)
    flat, where = _RESHAPE(root, (-1,)), _RESHAPE(places, (-1,))
    written = SubscriptAssign.of((ARRAY,))(flat, _RESHAPE(new, (-1,)), where)
    return _RESHAPE(written, root.shape)


def _check_apart(root: Any, steps: list[TensorView]) -> None:
    """Raise for a write to a view that contains an element of its root more than once."""
    shadow = _shadow(root, steps)
    if any(stride == 0 and n > 1 for stride, n in zip(shadow.strides, shadow.shape, strict=True)):
        raise problem(
            RuntimeError,
            "a write to a view that repeats elements of another tensor",
            got=f"shape {list(shadow.shape)}, expanded from elements of shape {list(root.shape)}",
            expected="a view that shows each element once",
            fix="write to a copy: x.copy()",
        )


def _shadow(root: Any, steps: list[TensorView]) -> np.ndarray:
    """A numpy array with the strides of a view; its memory is never touched."""
    shadow = np.empty(root.shape, np.bool_)
    for step in steps:
        shadow = step.seen(shadow, at_start=True)
    return shadow


def _is_seen(view: TensorView, op: Primitive, static: tuple[Any, ...]) -> bool:
    """Whether `op` applied to `view` is a view, too, or must copy elements.

    This depends on shapes and strides only, not on range starts, which are data.
    """
    steps = view.steps
    if all(step.op.keeps_order for step in steps):
        return True
    key = (view.root.shape, op, static, *[(step.op, step.static) for step in steps])
    found = _SEEN.get(key)
    if found is None:
        if len(_SEEN) >= _MOST_KNOWN:
            _SEEN.clear()
        found = _SEEN[key] = _is_without_copy(_shadow(view.root, steps), op, static)
    return found


def _is_without_copy(shadow: np.ndarray, op: Primitive, static: tuple[Any, ...]) -> bool:
    assert op.view is not None
    try:
        op.view(*op.arguments.merge((shadow,), static))
    except ValueError:  # numpy would have to copy
        return False
    return True


def _share(view: Any, source: Any) -> None:
    """Let a view of a tensor that shares memory with numpy share it, too."""
    step = view._relation
    if type(source._data) is np.ndarray:
        view._data, view._shared = step.seen(source._data), True
