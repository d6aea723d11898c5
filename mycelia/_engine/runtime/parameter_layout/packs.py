"""Packs: parameters that stay on the device in the layout of a program between calls.

A program of many identical blocks uses their weights as stacks; convolutions need permuted axes;
the parameters of a small network are passed as one array. Storing them that way between calls
avoids copies and a kernel for each of them. Reading such a parameter meanwhile returns it in its
original layout; assigning an array to it removes it from the pack, which is then rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any
from weakref import WeakValueDictionary, ref

import jax
import jax.numpy as jnp
import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.shape import Shape, size
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

_SLOT: Any = Tensor.__dict__["_data"]  # the descriptor of a tensor's array
_RELATION: Any = Tensor.__dict__["_relation"]
_PACKS: WeakValueDictionary[tuple[Any, ...], ParameterPack] = WeakValueDictionary()


class ParameterPack(TensorProtocol):
    """Parameters of one dtype as one array; programs use it like a tensor."""

    _shared = False  # the array is never shared: members return copies
    is_viewed = False  # a member has views

    def __init__(self, members: Sequence[Parameter]) -> None:
        self.members = tuple(members)
        self._array: Any = None
        self._outside = set(range(len(members)))  # members with a separate array

    @property
    def _data(self) -> Any:
        if self._outside:
            self._gather()
        return self._array

    @_data.setter
    def _data(self, array: Any) -> None:
        self._array = array

    def is_made_of(self, source: Any) -> bool:
        """Whether a value derived from an array (a weak reference) is still valid."""
        return source is not None and source() is self._array

    @property
    def _relation(self) -> ParameterPack | None:
        return self if self.is_viewed else None

    def outdate(self, root: Any) -> None:
        """Invalidate the arrays of all views of members."""
        for member in self.members:
            if member._relation is not None:
                member._relation.outdate(member)

    def leave(self, place: int) -> None:
        """Mark a member as having a separate array."""
        self._outside.add(place)

    def member(self, place: int) -> Any:
        """The array of one member."""
        raise NotImplementedError

    def shape_of(self, place: int) -> Shape:
        """The shape of one member."""
        raise NotImplementedError

    def _joined(self) -> Any:
        """The array of the pack, computed from the arrays of its members."""
        raise NotImplementedError

    def _gather(self) -> None:
        """Pack the arrays of all members, and turn members with separate arrays into views."""
        self._array = self._joined()
        for place in self._outside:
            member = self.members[place]
            if type(member) is PackedParameter and (view := _view(member)) is not None:
                view.leave()
            self.is_viewed = self.is_viewed or member._relation is not None
            member.__class__ = PackedParameter
            _SLOT.__set__(member, _PackMember(self, place))
            member._shared = False
        self._outside.clear()


class StackedPack(ParameterPack):
    """The arrays of its members, stacked along a new first axis."""

    def member(self, place: int) -> Any:
        return self._array[place]

    def shape_of(self, place: int) -> Shape:
        return tuple(self._array.shape[1:])

    def _joined(self) -> Any:
        return jnp.stack([jnp.asarray(member._data) for member in self.members])


class TransposedPack(ParameterPack):
    """One parameter with permuted axes."""

    def __init__(self, members: Sequence[Parameter], order: Shape) -> None:
        super().__init__(members)
        self._order, self._back = order, tuple(np.argsort(order).tolist())

    def member(self, place: int) -> Any:
        return jnp.transpose(self._array, self._back)

    def shape_of(self, place: int) -> Shape:
        return tuple([self._array.shape[axis] for axis in self._back])

    def _joined(self) -> Any:
        return jnp.transpose(self.members[0]._data, self._order)


class ConcatenatedPack(ParameterPack):
    """Small parameters of any shape, flattened and concatenated.

    A program that needs some of them separately needs most of them, so all are unpacked together.
    """

    def __init__(self, members: Sequence[Parameter]) -> None:
        super().__init__(members)
        self._shapes = [member.shape for member in members]
        self._ends = list(accumulate(map(size, self._shapes)))
        self._apart: tuple[Any, list[Any]] = None, []  # the unpacked array, and its parts
        self._take_apart = jax.jit(self._parts)

    def member(self, place: int) -> Any:
        if not self.is_made_of(self._apart[0]):
            array = self._array
            self._apart = ref(array), self._take_apart(array)
        return self._apart[1][place]

    def shape_of(self, place: int) -> Shape:
        return self._shapes[place]

    def _joined(self) -> Any:
        """Concatenate on the host, where replacing a few members is cheap."""
        if self._array is None:
            return np.concatenate([np.ravel(member._data) for member in self.members])
        found = np.array(self._array)
        for place in self._outside:
            end = self._ends[place]
            found[end - size(self._shapes[place]) : end] = np.ravel(self.members[place]._data)
        return found

    def _parts(self, array: Any) -> list[Any]:
        pairs = zip(jnp.split(array, self._ends[:-1]), self._shapes, strict=True)
        return [part.reshape(shape) for part, shape in pairs]


class _PackMember:
    """The placeholder that a packed parameter holds instead of an array."""

    def __init__(self, pack: ParameterPack, place: int) -> None:
        self.pack, self.place = pack, place
        self._made: tuple[Any, Any] = None, None  # the pack's array, and the member's from it

    @property
    def array(self) -> Any:
        if not self.pack.is_made_of(self._made[0]):
            source = ref(self.pack._array)
            self._made = source, self.pack.member(self.place)
        return self._made[1]

    def leave(self) -> None:
        self.pack.leave(self.place)


class PackedParameter(Parameter):
    """A parameter while it belongs to a pack."""

    @property
    def _data(self) -> Any:
        held = _SLOT.__get__(self)
        return held.array if type(held) is _PackMember else held

    @_data.setter
    def _data(self, array: Any) -> None:
        """Leave the pack; an interruption leaves either the old array or the new one."""
        view = _view(self)
        if view is not None:
            view.leave()
        _SLOT.__set__(self, array)
        self.__class__ = Parameter  # type: ignore[assignment]

    @property
    def _relation(self) -> Any:
        return _RELATION.__get__(self)

    @_relation.setter
    def _relation(self, relation: Any) -> None:
        view = _view(self)
        if view is not None and relation is not None:
            view.pack.is_viewed = True
        _RELATION.__set__(self, relation)

    @property
    def shape(self) -> Shape:
        view = _view(self)
        return tuple(self._data.shape) if view is None else view.pack.shape_of(view.place)

    @property
    def dtype(self) -> Any:
        view = _view(self)
        array = self._data if view is None else view.pack._array
        return dtypes.from_numpy(np.dtype(array.dtype))


def _view(parameter: Parameter) -> _PackMember | None:
    """The placeholder of a packed parameter; a copy under construction has none yet.

    After an interruption in the middle of a class or array change, it holds an array.
    """
    try:
        held = _SLOT.__get__(parameter)
    except AttributeError:
        return None
    return held if type(held) is _PackMember else None


def unpack_parameters(tensors: Iterable[Any]) -> None:
    """Unpack parameters, so that new arrays can be assigned without running Python code."""
    for tensor in tensors:
        if type(tensor) is PackedParameter:
            tensor._data = tensor._data


def pack_of(kind: type[ParameterPack], members: Sequence[Parameter], *how: Any) -> ParameterPack:
    """The pack of these parameters, shared by all programs."""
    key = (kind, *map(id, members), *how)
    found = _PACKS.get(key)
    if found is None or any(a is not b for a, b in zip(found.members, members, strict=True)):
        found = _PACKS[key] = kind(members, *how)
    return found


def joined_packs() -> list[ConcatenatedPack]:
    """All concatenated packs so far."""
    return [pack for pack in _PACKS.values() if isinstance(pack, ConcatenatedPack)]


def may_be_packed(value: Any) -> bool:
    """Whether an input of a program is an ordinary parameter of a network."""
    return type(value) in (Parameter, PackedParameter)
