"""Pipelines whose rows, sizes and errors are those of the real MindSpore.

Imported by Mycelia's tests and by make_datasets.py under the real MindSpore, so it imports
neither: `ds` is the package of the one or the other. A case is a function of `ds` and a folder.
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.dataset.record_cases import write_examples

Case = Callable[[Any, Path], Any]
FILE_ROWS = (3, 5, 1, 4, 2)


def write_files(folder: Path) -> None:
    """The files that the cases read: row j of file i is the number 10 * (i + 1) + j."""
    for i, count in enumerate(FILE_ROWS):
        numbers = [10 * (i + 1) + j for j in range(count)]
        rows = [{"label": [number]} for number in numbers]
        write_examples(folder / f"{i}.tfrecord", rows)
        write_examples(folder / f"{i}.GZIP", rows, wrap=gzip.compress)
        write_examples(folder / f"{i}.ZLIB", rows, wrap=zlib.compress)
        lines = "".join(f"{number}\n" for number in numbers)
        (folder / f"{i}.txt").write_text(lines)
        (folder / f"{i}.csv").write_text("number\n" + lines)


def told(case: Case, ds: Any, folder: Path) -> Any:
    """What a case gives, as JSON has it, or the name of the error."""
    try:
        return plain(case(ds, folder))
    except Exception as error:
        return f"raises {type(error).__name__}"


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, types as names."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value.decode("latin1") if isinstance(value, bytes) else value


def rows(dataset: Any, epochs: int = 1) -> list[Any]:
    """The rows of some epochs; of one column, its values alone."""
    iterator = dataset.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    made = []
    for _ in range(epochs):
        for row in iterator:
            values = [plain(value) for value in row]
            made.append(values[0] if len(values) == 1 else values)
    return made


def numbers(dataset: Any) -> list[int]:
    """The rows of one column of one number or text each."""
    return [int(np.ravel(value)[0]) for value in rows(dataset)]


def all_cases() -> dict[str, Case]:
    """The cases by name."""
    return dict(
        [
            *file_cases(),
            *source_cases(),
            *sampler_cases(),
            *user_sampler_cases(),
            *step_cases(),
            *example_cases(),
            *step_argument_cases(),
            *random_cases(range(90)),
        ]
    )


def file_cases() -> Iterator[tuple[str, Case]]:
    """Shards and samples of several files, read side by side."""
    shards = (None, (1, 0), (2, 0), (2, 1), (3, 2), (5, 4), (20, 19))
    for count, shard, samples, workers in product((1, 2, 5), shards, (None, 1, 3, 7), (1, 2)):
        given: dict[str, Any] = {"num_samples": samples, "num_parallel_workers": workers}
        if shard is not None:
            given |= {"num_shards": shard[0], "shard_id": shard[1]}
        name = f"{count} files, shard {shard}, {samples} samples, {workers} workers"
        yield f"text: {name}", _text(count, given)
        yield f"csv: {name}", _csv(count, given)
        for kind, equal in product(("tfrecord", "GZIP", "ZLIB"), (False, True)):
            more = {"shard_equal_rows": equal}
            if kind != "tfrecord":
                more["compression_type"] = kind
            yield f"{kind}: {name}, {equal}", _examples(count, kind, given | more)


def _text(count: int, given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / f"{i}.txt") for i in range(count)]
        data = ds.TextFileDataset(files, shuffle=False, **given)
        return [data.get_dataset_size(), numbers(data)]

    return case


def _csv(count: int, given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / f"{i}.csv") for i in range(count)]
        data = ds.CSVDataset(files, shuffle=False, **given)
        return [data.get_dataset_size(), numbers(data)]

    return case


def _examples(count: int, kind: str, given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / f"{i}.{kind}") for i in range(count)]
        data = ds.TFRecordDataset(files, shuffle=False, **given)
        return [data.get_dataset_size(), numbers(data)]

    return case


class Squares:
    """Rows with random access."""

    def __init__(self, count: int = 7) -> None:
        self._count = count

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.float32]:
        return np.array(index), np.float32(index * index)

    def __len__(self) -> int:
        return self._count


class Numbers:
    """Rows one after another, and a length that may be wrong."""

    def __init__(self, count: int, length: int) -> None:
        self._count = count
        self._length = length

    def __iter__(self) -> Iterator[tuple[np.ndarray]]:
        return iter([(np.array(i),) for i in range(self._count)])

    def __len__(self) -> int:
        return self._length


class NoLength:
    """Random access without a length."""

    def __getitem__(self, index: int) -> tuple[np.ndarray]:
        return (np.array(index),)


def _described(data: Any) -> Any:
    """All that can be asked of a dataset, before and after its rows."""
    size = data.get_dataset_size()
    return [
        [size, rows(data, 2), rows(data)],
        [data.get_batch_size(), data.get_repeat_count(), data.get_col_names()],
        [data.output_shapes(), data.output_types(), data.get_dataset_size()],
    ]


def source_cases() -> Iterator[tuple[str, Case]]:
    """What may be given as a source, and in which words."""
    sources: dict[str, Callable[[], Any]] = {
        "a generator": lambda: ((i,) for i in range(3)),
        "a generator of numbers": lambda: (i for i in range(3)),
        "a function": lambda: lambda: ((i,) for i in range(3)),
        "a list": lambda: [1, 2, 3],
        "a list of tuples": lambda: [(1,), (2,)],
        "an array": lambda: np.arange(6).reshape(3, 2),
        "a range": lambda: range(3),
        "an iterable": lambda: Numbers(3, 3),
        "too few rows": lambda: Numbers(3, 5),
        "too many rows": lambda: Numbers(5, 3),
        "no rows": lambda: [],
        "no length": NoLength,
        "a number": lambda: 1,
        "none": lambda: None,
    }
    for name, make in sources.items():
        for samples in (None, 2, 8):
            yield (
                f"source: {name}, {samples} samples",
                _generator(make, ["a"], num_samples=samples, shuffle=False),
            )
        shard = {"num_shards": 2, "shard_id": 0, "shuffle": False}
        yield f"source: {name}, a shard", _generator(make, ["a"], **shard)
        yield f"source: {name}, a sampler", _generator(make, ["a"], sampler=[1, 0])
    pairs = ["a", "b"]
    batches = ([[0, 1], [2]], [[0], [1, 2, 3]], [0, 1], 3, np.array([[0, 1], [2, 3]]))
    for number, batch in enumerate(batches):
        yield f"source: batches {number}", _generator(Squares, pairs, batch_sampler=batch)
    arguments: dict[str, dict[str, Any]] = {
        "joined": {
            "batch_sampler": [[0, 1]],
            "collate_fn": lambda x, y: (np.stack(x), np.stack(y) + 1),
        },
        "one column lost": {"batch_sampler": [[0, 1]], "collate_fn": lambda x, y: np.stack(x)},
        "rows as one": {"batch_sampler": [[0, 1]], "collate_fn": len},
        "collate_fn alone": {"collate_fn": len},
        "collate_fn of a wrong type": {"batch_sampler": [[0]], "collate_fn": 3},
        "batches and samples": {"batch_sampler": [[0]], "num_samples": 1},
        "batches and shuffle": {"batch_sampler": [[0]], "shuffle": False},
        "max_rowsize -2": {"max_rowsize": -2},
        "max_rowsize list": {"max_rowsize": [1]},
        "workers 0": {"num_parallel_workers": 0},
        "workers 256": {"num_parallel_workers": 256},
        "processes 1": {"python_multiprocessing": 1},
        "schema 3": {"schema": 3},
        "types as tuple of one": {"column_types": "int64"},
    }
    for name, given in arguments.items():
        yield f"source: {name}", _generator(Squares, pairs, **given)
    for index in (0, 2, 3, -1, "x", 1.5, True):
        yield f"source: row {index}", _row(index, num_shards=2, shard_id=1, shuffle=False)
        yield f"source: row {index} of a list", _row(index, sampler=[3, 1, 2])


def _generator(make: Callable[[], Any], columns: Any, **given: Any) -> Case:
    return lambda ds, folder: _described(ds.GeneratorDataset(make(), columns, **given))


def _row(index: Any, **given: Any) -> Case:
    return lambda ds, folder: ds.GeneratorDataset(Squares(), ["a", "b"], **given)[index]


def sampler_cases() -> Iterator[tuple[str, Case]]:
    """The samplers that choose rows without chance."""
    texts = [
        f"DistributedSampler({shards}, {shard}, False, {samples}, {offset})"
        for shards, shard in ((1, 0), (2, 1), (3, 2), (9, 8), (2, 2), (0, 0))
        for samples in (None, 0, 1, 20)
        for offset in (-2, -1, 0, 1, 2, 4)
    ]
    texts += [f"SequentialSampler({i}, {n})" for i in (None, 0, 3, 7) for n in (None, 0, 2)]
    texts += [f"SubsetSampler({i}, {n})" for i in ([3, 1], [1, 9], 2, [-1]) for n in (None, 1, 5)]
    texts += ["[4, 0]", "range(3)", "(2, 1)", "[1.5]", "1", "'ab'"]
    texts += ["IterSampler([1, 2])", "IterSampler([1, 2], 1)", "IterSampler([1, 2], 3)"]
    texts += ["DistributedSampler(2, 0, 1)", "RandomSampler(1)", "RandomSampler(shuffle=True)"]
    texts += ["RandomSampler(shuffle=Shuffle.FILES)", "DistributedSampler(2, 0, Shuffle.INFILE)"]
    texts += ["WeightedRandomSampler([0, 0])", "WeightedRandomSampler([0, 1, 0], 2)"]
    for text in texts:
        yield f"sampler: {text}", _sampled(text)
        yield f"sampler: {text} is made", _made(text)
        yield f"sampler: {text} over slices", _sliced(text)
    inner = (
        "SequentialSampler(1, 4)",
        "SubsetSampler([5, 3, 1])",
        "DistributedSampler(1, 0, False, 5)",
    )
    outer = ("SequentialSampler(1)", "SubsetSampler([1, 0])", "DistributedSampler(1, 0, False, 2)")
    for first, then in product(inner, outer):
        yield f"sampler: {then} of {first}", _chained(then, first)


def _evaluated(ds: Any, text: str) -> Any:
    return eval(text, dict(vars(ds)))


def _sampled(text: str) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        return _described(ds.GeneratorDataset(Squares(), ["a", "b"], sampler=_evaluated(ds, text)))

    return case


def _sliced(text: str) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        data = ds.NumpySlicesDataset(np.arange(7), ["a"], sampler=_evaluated(ds, text))
        return [data.get_dataset_size(), rows(data)]

    return case


def _made(text: str) -> Case:
    return lambda ds, folder: _evaluated(ds, text) is not None


def _chained(outer: str, inner: str) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        sampler = _evaluated(ds, outer)
        sampler.add_child(_evaluated(ds, inner))
        return _described(ds.GeneratorDataset(Squares(), ["a", "b"], sampler=sampler))

    return case


def user_sampler_cases() -> Iterator[tuple[str, Case]]:
    """Samplers of users that give `count` rows, and say so or something else."""
    for count, samples, length in product((3, 8), (None, 2, 5, 9), (None, 2, 5, 9)):
        name = f"{count} rows, {samples} samples, length {length}"
        yield f"user sampler: {name}", _counted(count, samples, length)
    yield "user sampler: reset", _counted(2, None, None, resets=True)


def _counted(count: int, samples: Any, length: Any, *, resets: bool = False) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        class Counted(ds.Sampler):
            turn = 0

            def __iter__(self) -> Iterator[int]:
                return iter([self.turn + row for row in range(count)])

            def reset(self) -> None:
                self.turn += resets

        if length is not None:
            Counted.__len__ = lambda self: length  # type: ignore[attr-defined]
        data = ds.GeneratorDataset(Squares(), ["a", "b"], sampler=Counted(samples))
        return [data.get_dataset_size(), rows(data, 3), rows(data.repeat(2))]

    return case


def step_cases() -> Iterator[tuple[str, Case]]:
    """Iterators that start from a later step."""
    for step, epochs in product((0, 1, 6, -1, "x"), (1, 2)):
        yield f"step: {step} of {epochs} epochs", _started(step, epochs)


def _started(step: Any, epochs: int) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        data = ds.NumpySlicesDataset(list(range(14)), ["a"], shuffle=False)
        data.set_init_step(step)
        data = data.batch(2)
        return [rows(data, epochs), data.get_init_step(), data.get_dataset_size()]

    return case


def example_cases() -> Iterator[tuple[str, Case]]:
    """Examples with schemas, wrong files and columns, written to JSON and back."""
    columns = (
        ("label", "int64", [1]),
        ("label", "int64", []),
        ("label", "int64"),
        ("label", "int32", [1]),
        ("absent", "int64"),
    )
    for column in columns:
        yield f"examples: {column}", _typed(column)
    given: tuple[dict[str, Any], ...] = (
        {"columns_list": ["absent"]},
        {"columns_list": ["label"]},
        {"num_shards": 2, "shard_id": 0},
        {"num_shards": 2, "shard_id": 2},
        {"num_shards": 2},
        {"compression_type": "X"},
        {"shuffle": "x"},
    )
    for more in given:
        yield f"examples: {more} are made", _opened("0.tfrecord", more)
        yield f"examples: {more} are read", _read("0.tfrecord", more)
    for name in ("0.txt", "absent"):
        yield f"examples: {name} is made", _opened(name, {})
        yield f"examples: {name} is read", _read(name, {})
    back: tuple[dict[str, Any], ...] = (
        {},
        {"num_samples": 2},
        {"num_shards": 2, "shard_id": 1, "shard_equal_rows": True},
    )
    for more in back:
        yield f"examples: {more} from JSON", _from_json(more)


def _typed(column: tuple[Any, ...]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        schema = ds.Schema()
        schema.add_column(*column)
        data = ds.TFRecordDataset(str(folder / "0.tfrecord"), schema, shuffle=False)
        both = data.batch(2)
        return [rows(data), data.output_shapes(), rows(both), both.output_shapes()]

    return case


def _opened(name: str, given: dict[str, Any]) -> Case:
    return lambda ds, folder: ds.TFRecordDataset(str(folder / name), **given) is not None


def _read(name: str, given: dict[str, Any]) -> Case:
    return lambda ds, folder: sorted(rows(ds.TFRecordDataset(str(folder / name), **given)))


def _from_json(given: dict[str, Any]) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        files = [str(folder / "0.tfrecord"), str(folder / "1.tfrecord")]
        data = ds.TFRecordDataset(files, columns_list=["label"], shuffle=False, **given).batch(2)
        again = ds.deserialize(ds.serialize(data))
        return [rows(again), ds.serialize(again) == ds.serialize(data)]

    return case


def step_argument_cases() -> Iterator[tuple[str, Case]]:
    """What the steps of a pipeline accept, and what they make of it."""
    for text in STEPS.split("\n"):
        yield f"argument: {text}", _step(text)


STEPS = """pairs.batch(2)
pairs.batch(2, True)
pairs.batch(True)
pairs.batch(False)
pairs.batch(0)
pairs.batch(-1)
pairs.batch("2")
pairs.batch(lambda info: info.get_batch_num() + 1)
pairs.batch(lambda: 2)
pairs.batch(lambda info: 0)
pairs.batch(2, max_rowsize=-2)
pairs.batch(2, max_rowsize=[1])
pairs.batch(2, per_batch_map=lambda a, b, i: (a, b), python_multiprocessing=1)
pairs.batch(2, per_batch_map=lambda a, b, i: (a, b, b), output_columns=["a", "b", "c"])
pairs.batch(2, per_batch_map=lambda a, i: np.stack(a), input_columns=["a"])
uneven.batch(2)
uneven.padded_batch(2, pad_info={})
uneven.padded_batch(2, pad_info={"a": ([6], -1)})
uneven.padded_batch(2, pad_info={"a": ([2], -1)})
uneven.padded_batch(2, pad_info={"a": ([None], 7)})
uneven.padded_batch(2, pad_info={"a": (None, 7)})
uneven.padded_batch(2, pad_info={"a": ([6.0], 7)})
uneven.padded_batch(2, pad_info={"a": ([-1], 7)})
uneven.padded_batch(2, pad_info={"a": ((6,), 7)})
uneven.padded_batch(2, pad_info={"a": ([6], "x")})
uneven.padded_batch(2, True, pad_info={"a": ([6], 0)})
uneven.bucket_batch_by_length(["a"], [2, 4], [2, 2, 1], None, {"a": ([6], 0)})
uneven.bucket_batch_by_length(["a"], [2, 4, 8], [1, 1, 1, 1], None, {"a": (None, 0)}, True)
uneven.bucket_batch_by_length(["a"], [2, 4, 8], [1, 1, 1, 1], None, {"a": ([None], 0)}, True)
uneven.bucket_batch_by_length(["a"], [2, 4], [1, 1, 1], 3)
uneven.bucket_batch_by_length("a", [2, 4], [1, 1, 1])
uneven.bucket_batch_by_length(["absent"], [2, 4], [1, 1, 1])
pairs.repeat(2).batch(3)
pairs.batch(3).repeat(2)
pairs.repeat(0)
pairs.repeat(True)
pairs.skip(-1)
pairs.skip(9)
pairs.take(0)
pairs.take(-1)
pairs.shuffle(1)
pairs.project([])
pairs.project(("a",))
pairs.project(["b", "a"])
pairs.rename([], [])
pairs.rename("a", "x")
pairs.filter(lambda a: a[0] > 1, "a")
pairs.filter(3)
pairs.concat([])
pairs.concat([others])
pairs + others.batch(2)
pairs + others.map(lambda a: a.astype(np.float32), "a")
pairs.zip(others.take(2).rename(["a", "b"], ["c", "d"]))
pairs.split([], False)[0]
pairs.split([3, 2], False)[1]
pairs.apply(3)
pairs.take(3).skip(1).repeat(2)
pairs.repeat(2).take(7).skip(2).batch(2, True)"""


def _step(text: str) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        numbers = [(np.array([i]), np.array(i * 1.5)) for i in range(5)]
        pairs, others = (ds.GeneratorDataset(numbers, ["a", "b"], shuffle=False) for _ in range(2))
        uneven = ds.GeneratorDataset([np.arange(i + 1) for i in range(6)], ["a"], shuffle=False)
        return _described(
            eval(text, {"pairs": pairs, "others": others, "uneven": uneven, "np": np})
        )

    return case


def random_cases(seeds: range) -> Iterator[tuple[str, Case]]:
    """Pipelines of random sources, samplers and steps without chance in them."""
    for seed in seeds:
        text = _pipeline(random.Random(seed))
        yield f"random: {seed}: {text}", _evaluated_pipeline(text)


def _pipeline(rng: random.Random) -> str:
    text = _source(rng)
    for _ in range(rng.randint(0, 5)):
        text += _random_step(rng)
    return text


def _source(rng: random.Random) -> str:
    shards = rng.randint(1, 4)
    given = [
        "",
        f", num_samples={rng.randint(0, 9)}",
        f", num_shards={shards}, shard_id={rng.randrange(shards)}",
        f", num_samples={rng.randint(1, 5)}, num_shards={shards}, shard_id={rng.randrange(shards)}",
    ]
    samplers = [
        f"ds.SequentialSampler({rng.randint(0, 3)}, {rng.choice([None, 2, 3])})",
        f"ds.SubsetSampler({[rng.randrange(7) for _ in range(rng.randint(1, 5))]})",
        f"ds.DistributedSampler({shards}, {rng.randrange(shards)}, False)",
        f"{[rng.randrange(7) for _ in range(rng.randint(1, 5))]}",
        f"ds.IterSampler({[rng.randrange(7) for _ in range(rng.randint(1, 5))]})",
    ]
    chosen = f"shuffle=False{rng.choice(given)}"
    if rng.random() < 0.3:
        chosen = f"sampler={rng.choice(samplers)}"
    files = [f"folder / '{i}.%s'" for i in rng.sample(range(5), rng.randint(1, 4))]
    listed = "[" + ", ".join(f"str({file})" for file in files) + "]"
    return rng.choice(
        [
            f"ds.NumpySlicesDataset(np.arange(7), ['n'], {chosen})",
            f"ds.NumpySlicesDataset(np.arange(14).reshape(7, 2), ['n'], {chosen})",
            f"ds.GeneratorDataset([(np.array(i),) for i in range(7)], ['n'], {chosen})",
            f"ds.GeneratorDataset(lambda: ((np.array(i),) for i in range({rng.randint(1, 6)})), ['n'])",
            f"ds.TextFileDataset({listed % (('txt',) * len(files))}, "
            f"shuffle=False{rng.choice(given)}).rename('text', 'n').map(to_number, 'n')",
            f"ds.TFRecordDataset({listed % (('tfrecord',) * len(files))}, "
            f"shuffle=False{rng.choice(given)}, shard_equal_rows=True).rename('label', 'n')",
        ]
    )


def _random_step(rng: random.Random) -> str:
    count = rng.randint(1, 5)
    return rng.choice(
        [
            f".batch({count})",
            f".batch({count}, True)",
            f".repeat({rng.randint(1, 3)})",
            f".skip({rng.randint(0, 4)})",
            f".take({count})",
            ".map(lambda n: n * 2 + 1, 'n')",
            ".map(lambda n: (n, n + 1), 'n', ['n', 'm']).project('n')",
            ".filter(lambda n: int(np.sum(n)) % 3 != 0, 'n')",
            f".concat(ds.NumpySlicesDataset(np.arange({count}), ['n'], shuffle=False))",
            f".zip(ds.NumpySlicesDataset(np.arange({count}), ['z'], shuffle=False)).project('n')",
            ".rename('n', 'k').rename('k', 'n')",
            ".padded_batch(2, pad_info={})",
            ".batch(2, per_batch_map=lambda n, info: [np.sum(v) for v in n], input_columns='n')",
        ]
    )


def _evaluated_pipeline(text: str) -> Case:
    def case(ds: Any, folder: Path) -> Any:
        def made() -> Any:
            names = {"ds": ds, "np": np, "folder": folder, "to_number": lambda n: np.int64(n)}
            return eval(text, names)

        data = made()
        first = [data.get_dataset_size(), rows(data, 2), data.output_shapes(), data.get_col_names()]
        return [first, data.get_batch_size(), data.get_repeat_count(), made().output_types()]

    return case
