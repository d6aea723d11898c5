"""Samplers, which choose the rows of a source and their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import count
from threading import Lock
from typing import Any

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.dataset.ir import samplers as S

_ITERATORS = ("builtins", "itertools")  # modules whose iterators can be used only once


class Shuffle(StrEnum):
    """How the rows of files are shuffled."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"
    ADAPTIVE = "adaptive"
    PARTIAL = "partial"


class BuiltinSampler(CheckedKeywords):
    """A built-in sampler. A child sampler is applied first; this one chooses among its rows."""

    _shuffles = False
    _sharded = False

    def __init__(self, num_samples: int | None = None) -> None:
        _check_count("num_samples", num_samples)
        self.num_samples = num_samples
        self.child_sampler: Any = None

    def node(self) -> S.SamplerNode:
        """The node that describes the sampler and its children."""
        child = None if self.child_sampler is None else sampler_node(self.child_sampler, None)
        return replace(self._own_node(), child=child)

    def _own_node(self) -> S.SamplerNode:
        raise NotImplementedError

    def parse(self) -> S.SamplerNode:
        """The same node, under MindSpore's name."""
        return self.node()

    def parse_for_minddataset(self) -> S.SamplerNode:
        """The same node: all kinds of sources accept it."""
        return self.node()

    def add_child(self, sampler: Any) -> None:
        """Set the child sampler, which is applied first."""
        if self.child_sampler is not None:
            raise problem(RuntimeError, "add_child: the sampler already has a child")
        if sampler is self:
            raise problem(RuntimeError, "add_child: a sampler cannot be its own child")
        self.child_sampler = sampler

    def get_child(self) -> Any:
        """The child sampler, which is applied first, or None."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """The maximum number of rows, or None."""
        return self.num_samples

    def is_shuffled(self) -> bool:
        """Whether this sampler or a child shuffles."""
        child = self.child_sampler
        return self._shuffles or (child is not None and child.is_shuffled())

    def is_sharded(self) -> bool:
        """Whether this sampler or a child chooses the rows of one shard."""
        child = self.child_sampler
        return self._sharded or (child is not None and child.is_sharded())


class SequentialSampler(BuiltinSampler):
    """Rows in the order of the source, from `start_index` on."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if start_index is not None and not is_int(start_index):
            raise problem(TypeError, "start_index must be an int", got=repr(start_index))
        self.start_index = start_index

    def _own_node(self) -> S.SamplerNode:
        if (self.start_index or 0) < 0:
            raise problem(
                RuntimeError,
                "SequentialSampler: start_index is negative",
                got=str(self.start_index),
                expected="0 or more",
            )
        return S.SequentialSamplerNode(
            start_index=self.start_index or 0, num_samples=self.num_samples
        )


class RandomSampler(BuiltinSampler):
    """Rows in a new random order every epoch."""

    _shuffles = True

    def __init__(
        self,
        replacement: bool = False,
        num_samples: int | None = None,
        shuffle: Shuffle = Shuffle.GLOBAL,
    ) -> None:
        _check_bool("replacement", replacement)
        super().__init__(num_samples)
        if not isinstance(shuffle, Shuffle):
            raise problem(
                TypeError, "RandomSampler: shuffle must be one of Shuffle", got=repr(shuffle)
            )
        self.replacement = replacement
        self.shuffle = shuffle
        self.deterministic = False
        self.reshuffle_each_epoch = True

    def _own_node(self) -> S.SamplerNode:
        _check_global(self.shuffle)
        return S.RandomSamplerNode(
            replacement=self.replacement,
            num_samples=self.num_samples,
            reshuffle_each_epoch=self.reshuffle_each_epoch,
        )


class DistributedSampler(BuiltinSampler):
    """The rows of one shard of a distributed run; every shard has the same number of rows."""

    _sharded = True

    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool | Shuffle = True,
        num_samples: int | None = None,
        offset: int = -1,
    ) -> None:
        for name, value in (("num_shards", num_shards), ("shard_id", shard_id)):
            _check_int(name, value)
        if not isinstance(offset, int):
            raise problem(TypeError, "offset must be int", got=repr(offset))
        if not isinstance(shuffle, bool | Shuffle):
            raise problem(TypeError, "shuffle must be bool, or one of Shuffle", got=repr(shuffle))
        super().__init__(num_samples)
        self.num_shards = num_shards
        self.shard_id = shard_id
        self.shuffle = Shuffle.GLOBAL if shuffle is True else shuffle
        self.offset = offset
        self._shuffles = shuffle is not False

    def _own_node(self) -> S.SamplerNode:
        _check_global(self.shuffle)
        return S.DistributedSamplerNode(
            num_shards=self.num_shards,
            shard_id=self.shard_id,
            shuffle=self.shuffle is not False,
            num_samples=self.num_samples,
            offset=int(self.offset),
        )


class PKSampler(BuiltinSampler):
    """`num_val` rows of each class."""

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:
        _check_int("num_val", num_val)
        if num_val <= 0:
            raise problem(
                ValueError, "PKSampler: num_val must be positive", got=f"num_val={num_val}"
            )
        if num_class is not None:
            raise problem(
                NotImplementedError, "PKSampler: num_class is not supported", fix="leave it out"
            )
        _check_bool("shuffle", shuffle)
        if not isinstance(class_column, str):
            raise problem(TypeError, "class_column must be str", got=repr(class_column))
        super().__init__(num_samples)
        self.num_val = num_val
        self.shuffle = shuffle
        self.class_column = class_column
        self._shuffles = shuffle

    def _own_node(self) -> S.SamplerNode:
        return S.PKSamplerNode(
            num_val=self.num_val,
            shuffle=self.shuffle,
            class_column=self.class_column,
            num_samples=self.num_samples,
        )


class SubsetSampler(BuiltinSampler):
    """The rows with the listed indices, in that order."""

    def __init__(self, indices: Any, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        listed = [indices] if is_int(indices) else list(indices)
        for position, index in enumerate(listed):
            if not is_int(index):
                raise problem(
                    TypeError,
                    f"{type(self).__name__}: Type of indices element must be int",
                    got=f"list[{position}]: {index!r}, type: {type(index)}",
                )
        self.indices = listed

    def get_num_samples(self) -> int | None:
        """The number of rows."""
        listed = len(self.indices)
        return listed if self.num_samples is None else min(self.num_samples, listed)

    def _own_node(self) -> S.SamplerNode:
        return S.SubsetSamplerNode(
            indices=tuple(int(index) for index in self.indices),
            num_samples=self.num_samples,
            shuffle=self._shuffles,
        )


class SubsetRandomSampler(SubsetSampler):
    """The rows with the listed indices, in a new random order every epoch."""

    _shuffles = True


class WeightedRandomSampler(BuiltinSampler):
    """Rows drawn with a probability proportional to their weight."""

    _shuffles = True

    def __init__(
        self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True
    ) -> None:
        for weight in weights:
            if not is_number(weight):
                raise problem(TypeError, "weights: every weight must be a number", got=repr(weight))
        _check_bool("replacement", replacement)
        super().__init__(num_samples)
        self.weights = weights
        self.replacement = replacement

    def _own_node(self) -> S.SamplerNode:
        if any(weight < 0 for weight in self.weights):
            raise problem(RuntimeError, "weights: a weight is negative", got=str(self.weights))
        if len(self.weights) == 0:
            raise problem(RuntimeError, "weights: the list is empty")
        if sum(self.weights) == 0:
            raise problem(RuntimeError, "weights: all of them are zero", got=str(self.weights))
        return S.WeightedSamplerNode(
            weights=tuple(float(weight) for weight in self.weights),
            num_samples=self.num_samples,
            replacement=self.replacement,
        )


class Sampler(BuiltinSampler):
    """Base class of custom samplers: `__iter__` yields row indices.

    `dataset_size` is known once the sampler is attached to a dataset. `reset` is called
    after each epoch.
    """

    def __init__(self, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.dataset_size = 0

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError("a sampler must define __iter__")

    def reset(self) -> None:
        """Prepare for the next epoch."""

    def get_num_samples(self) -> int | None:
        """The number of rows that the sampler declares, or None."""
        if self.num_samples is None and hasattr(self, "__len__"):
            return len(self)
        return self.num_samples

    def _own_node(self) -> S.SamplerNode:
        return S.UserSamplerNode(source=self, num_samples=self.num_samples, resets=True)


class IterSampler(Sampler):
    """The row indices of an iterable."""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.sampler = repeatable(sampler)

    def __iter__(self) -> Iterator[int]:
        return iter(self.sampler)

    def get_num_samples(self) -> int | None:
        """The number of rows that the iterable declares, or None."""
        if self.num_samples is None and hasattr(self.sampler, "__len__"):
            return len(self.sampler)
        return self.num_samples

    def _own_node(self) -> S.SamplerNode:
        return S.UserSamplerNode(source=self.sampler, num_samples=self.num_samples)


def sampler_node(sampler: Any, num_samples: int | None) -> S.SamplerNode:
    """The node of a sampler, a list of row indices, or another iterable of them."""
    if isinstance(sampler, BuiltinSampler):
        return sampler.node()
    if isinstance(sampler, (list, tuple)):
        return SubsetSampler(sampler, num_samples).node()
    iterable = hasattr(sampler, "__iter__") or hasattr(sampler, "__getitem__")
    if iterable and not isinstance(sampler, str):
        return S.UserSamplerNode(source=repeatable(sampler), num_samples=num_samples)
    raise problem(
        TypeError,
        "sampler: not a sampler",
        got=f"Unsupported sampler object of type ({type(sampler)})",
        expected="a sampler, a list of row indices, or an iterable of them",
    )


def repeatable(source: Any) -> Any:
    """The iterable itself; a Python iterator is wrapped so that it can be replayed.

    For an iterator of a custom class, its `__iter__` decides.
    """
    is_iterator = hasattr(source, "__next__") and iter(source) is source
    if is_iterator and type(source).__module__ in _ITERATORS:
        return ReplayableIterator(source)
    return source


class ReplayableIterator:
    """Stores the values of an iterator as they arrive, so that they can be replayed."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self._kept: list[Any] = []
        self._lock = Lock()

    def __iter__(self) -> Iterator[Any]:
        for position in count():
            with self._lock:
                if position == len(self._kept):
                    try:
                        self._kept.append(next(self._source))
                    except StopIteration:
                        return
            yield self._kept[position]


def chosen_sampler(
    num_samples: int | None,
    sampler: Any,
    shuffle: bool | None,
    num_shards: int | None,
    shard_id: int | None,
    *,
    in_memory: bool = False,
) -> S.SamplerNode:
    """The sampler that the arguments of a source describe.

    As in MindSpore, in-memory sources accept a custom sampler next to the other arguments, which
    then have no effect, and raise another exception type than sources that read files.
    """
    _check_count("num_samples", num_samples)
    check_shards(num_shards, shard_id)
    if shuffle is not None:
        _check_bool("shuffle", shuffle)
    if sampler is not None:
        others = (shuffle, num_shards, num_samples)
        is_alone = all(given is None for given in others)
        if not is_alone and (isinstance(sampler, BuiltinSampler) or not in_memory):
            raise problem(
                ValueError if in_memory else RuntimeError,
                "sampler: conflicts with the other arguments that choose rows",
                got=f"a sampler, and num_samples={num_samples}, shuffle={shuffle}, "
                f"num_shards={num_shards}, shard_id={shard_id}",
                fix="pass only the sampler",
            )
        return sampler_node(sampler, num_samples)
    if num_shards is not None and shard_id is not None:
        return S.DistributedSamplerNode(
            num_shards=num_shards,
            shard_id=shard_id,
            shuffle=shuffle is not False,
            num_samples=num_samples,
        )
    if shuffle is False:
        return S.SequentialSamplerNode(num_samples=num_samples)
    return S.RandomSamplerNode(num_samples=num_samples)


def check_shards(num_shards: Any, shard_id: Any) -> None:
    """Check that both or neither are given, and that the id is below the number."""
    if (num_shards is None) != (shard_id is None):
        raise problem(ValueError, "num_shards, shard_id: set both or neither")
    if num_shards is None:
        return
    _check_int("num_shards", num_shards)
    _check_int("shard_id", shard_id)
    if num_shards < 1:
        raise problem(
            ValueError,
            "num_shards: out of range",
            got=str(num_shards),
            expected="1 or more",
        )
    if shard_id < 0:
        raise problem(
            ValueError,
            "shard_id: out of range",
            got=str(shard_id),
            expected="0 or more",
        )
    if shard_id >= num_shards:
        raise problem(
            ValueError,
            "shard_id: must be less than num_shards",
            got=f"shard_id={shard_id}, num_shards={num_shards}",
        )


def _check_global(shuffle: Any) -> None:
    """Reject shuffle modes other than global: only file datasets support them."""
    if shuffle is not False and shuffle != Shuffle.GLOBAL:
        raise problem(
            RuntimeError,
            "sampler: the shuffle mode is not supported by this dataset",
            got=str(shuffle),
            expected="Shuffle.GLOBAL",
        )


def _check_count(argument: str, value: Any) -> None:
    if value is None:
        return
    _check_int(argument, value)
    if not 0 <= value < 2**63:
        raise problem(
            ValueError,
            f"{argument}: out of range",
            got=str(value),
            expected="0 or more, in 64 bits",
        )


def _check_int(argument: str, value: Any) -> None:
    if not is_int(value):
        raise problem(TypeError, f"{argument} must be int", got=f"{type(value).__name__} {value!r}")


def _check_bool(argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise problem(
            TypeError, f"{argument} must be bool", got=f"{type(value).__name__} {value!r}"
        )
