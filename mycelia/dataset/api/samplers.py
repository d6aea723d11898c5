"""The samplers, as users make and chain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from mycelia.core.checks import is_int, is_number
from mycelia.core.errors import problem
from mycelia.dataset.ir import samplers as S


class Shuffle(StrEnum):
    """How the rows of files are mixed."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"
    ADAPTIVE = "adaptive"
    PARTIAL = "partial"


class BuiltinSampler:
    """A sampler of a known kind; a child chooses first, and this one among what it chose."""

    _node: S.SamplerNode

    def __init__(self, node: S.SamplerNode) -> None:
        self._node = node
        self._child: Any = None

    @property
    def num_samples(self) -> int | None:
        return self._node.num_samples

    def node(self) -> S.SamplerNode:
        """The description of the sampler and its children."""
        child = None if self._child is None else sampler_node(self._child, None)
        return replace(self._node, child=child)

    def add_child(self, sampler: Any) -> None:
        """Let another sampler choose first."""
        if self._child is not None:
            raise problem(RuntimeError, "add_child: the sampler has a child already")
        if sampler is self:
            raise problem(RuntimeError, "add_child: a sampler cannot be its own child")
        self._child = sampler

    def get_child(self) -> Any:
        """The sampler that chooses first, or None."""
        return self._child

    def get_num_samples(self) -> int | None:
        """How many rows come at most, or None."""
        return self._node.num_samples


class SequentialSampler(BuiltinSampler):
    """Rows in their own order, from `start_index` on."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        _check_count("num_samples", num_samples)
        _check_count("start_index", start_index)
        super().__init__(S.Sequential(start_index=start_index or 0, num_samples=num_samples))


class RandomSampler(BuiltinSampler):
    """Rows in a new random order every epoch."""

    def __init__(
        self,
        replacement: bool = False,
        num_samples: int | None = None,
        shuffle: Shuffle = Shuffle.GLOBAL,
    ) -> None:
        _check_bool("replacement", replacement)
        _check_count("num_samples", num_samples)
        super().__init__(S.Random(replacement=replacement, num_samples=num_samples))


class DistributedSampler(BuiltinSampler):
    """The rows of one of several processes, the same number for each."""

    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool = True,
        num_samples: int | None = None,
        offset: int = -1,
    ) -> None:
        for name, value in (("num_shards", num_shards), ("shard_id", shard_id), ("offset", offset)):
            _check_int(name, value)
        _check_bool("shuffle", shuffle)
        _check_count("num_samples", num_samples)
        super().__init__(
            S.Distributed(
                num_shards=num_shards,
                shard_id=shard_id,
                shuffle=shuffle,
                num_samples=num_samples,
                offset=offset,
            )
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
                ValueError, "PKSampler: num_val is not positive", got=f"num_val={num_val}"
            )
        if num_class is not None:
            raise problem(
                NotImplementedError, "PKSampler: num_class cannot be chosen", fix="leave it out"
            )
        _check_bool("shuffle", shuffle)
        super().__init__(
            S.PK(
                num_val=num_val, shuffle=shuffle, class_column=class_column, num_samples=num_samples
            )
        )


class SubsetSampler(BuiltinSampler):
    """The listed rows, as they are listed."""

    _shuffles = False

    def __init__(self, indices: Any, num_samples: int | None = None) -> None:
        _check_count("num_samples", num_samples)
        listed = [indices] if is_int(indices) else list(indices)
        for index in listed:
            _check_int("indices", index)
        super().__init__(
            S.Subset(
                indices=tuple(int(index) for index in listed),
                num_samples=num_samples,
                shuffle=self._shuffles,
            )
        )


class SubsetRandomSampler(SubsetSampler):
    """The listed rows, in a new random order every epoch."""

    _shuffles = True


class WeightedRandomSampler(BuiltinSampler):
    """Rows drawn with a probability proportional to their weight."""

    def __init__(
        self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True
    ) -> None:
        for weight in weights:
            if not is_number(weight):
                raise problem(TypeError, "weights: one of them is no number", got=repr(weight))
            if weight < 0:
                raise problem(ValueError, "weights: one of them is negative", got=str(weight))
        if len(weights) == 0 or sum(weights) == 0:
            raise problem(ValueError, "weights: all of them are zero", got=str(weights))
        _check_bool("replacement", replacement)
        _check_count("num_samples", num_samples)
        super().__init__(
            S.Weighted(
                weights=tuple(float(weight) for weight in weights),
                num_samples=num_samples,
                replacement=replacement,
            )
        )


class Sampler(BuiltinSampler):
    """The base of users' samplers: `__iter__` gives row numbers.

    `dataset_size` is known from the time the sampler is given to a dataset.
    """

    def __init__(self, num_samples: int | None = None) -> None:
        _check_count("num_samples", num_samples)
        self.dataset_size = 0
        self._num_samples = num_samples
        self._child = None

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError("a sampler must have __iter__")

    @property
    def num_samples(self) -> int | None:
        return self._num_samples

    def node(self) -> S.SamplerNode:
        child = None if self._child is None else sampler_node(self._child, None)
        return S.User(source=self, num_samples=self._num_samples, child=child)

    def get_num_samples(self) -> int | None:
        return self._num_samples


class IterSampler(Sampler):
    """The row numbers of an iterable."""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self._source = sampler

    def __iter__(self) -> Iterator[int]:
        return iter(self._source)

    def node(self) -> S.SamplerNode:
        child = None if self._child is None else sampler_node(self._child, None)
        return S.User(source=self._source, num_samples=self._num_samples, child=child)


def sampler_node(sampler: Any, num_samples: int | None) -> S.SamplerNode:
    """The node of a sampler, a list of rows or another iterable of them."""
    if isinstance(sampler, BuiltinSampler):
        return sampler.node()
    if isinstance(sampler, (list, tuple)) and all(is_int(index) for index in sampler):
        return S.Subset(indices=tuple(int(i) for i in sampler), num_samples=num_samples)
    if hasattr(sampler, "__iter__") or hasattr(sampler, "__getitem__"):
        return S.User(source=sampler, num_samples=num_samples)
    raise problem(TypeError, "sampler: this is no sampler", got=type(sampler).__name__)


def chosen_sampler(
    num_samples: int | None,
    sampler: Any,
    shuffle: bool | None,
    num_shards: int | None,
    shard_id: int | None,
) -> S.SamplerNode:
    """The sampler that the arguments of a source ask for."""
    _check_count("num_samples", num_samples)
    check_shards(num_shards, shard_id)
    if shuffle is not None:
        _check_bool("shuffle", shuffle)
    if sampler is not None:
        if (
            shuffle is not None
            or num_shards is not None
            or (num_samples is not None and isinstance(sampler, BuiltinSampler))
        ):
            raise problem(
                ValueError,
                "sampler: the rows are chosen in two ways at once",
                got=f"a sampler, and num_samples={num_samples}, shuffle={shuffle}, "
                f"num_shards={num_shards}, shard_id={shard_id}",
                fix="give the sampler alone",
            )
        return sampler_node(sampler, num_samples)
    if num_shards is not None and shard_id is not None:
        return S.Distributed(
            num_shards=num_shards,
            shard_id=shard_id,
            shuffle=shuffle is not False,
            num_samples=num_samples,
        )
    if shuffle is False:
        return S.Sequential(num_samples=num_samples)
    return S.Random(num_samples=num_samples)


def check_shards(num_shards: Any, shard_id: Any) -> None:
    """Both or neither, and the id below the number."""
    if (num_shards is None) != (shard_id is None):
        raise problem(ValueError, "num_shards, shard_id: one is of no use without the other")
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
            "shard_id: there is no such shard",
            got=f"shard_id={shard_id}, num_shards={num_shards}",
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
