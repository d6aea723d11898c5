"""Serialization of pipelines: to nested dicts or JSON in MindSpore's format, and back."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import isclass
from itertools import chain
from typing import Any, get_type_hints

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.files.text_files import made_of, read_json
from mycelia._engine.core.tracebacks import is_explained
from mycelia.dataset import transforms, vision
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.files import mixed_sampler
from mycelia.dataset.api.records import schema_columns
from mycelia.dataset.api.trees import BORDERS, INTERS, OTHER_NAMES, as_tree
from mycelia.dataset.formats.schema import ColumnSchema, listed_columns
from mycelia.dataset.ir import operations, samplers, sources
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.ir.records import TFRecord
from mycelia.dataset.vision.options import Border, ConvertMode, Inter, SliceMode

_SAMPLERS: dict[str, type[samplers.SamplerNode]] = {
    kind.sampler_name: kind
    for kind in vars(samplers).values()
    if isclass(kind) and issubclass(kind, samplers.SamplerNode) and hasattr(kind, "sampler_name")
}
_WITHOUT_JSON = (  # sources that hold user objects
    operations.FlatMapNode,
    operations.CacheNode,
    operations.SyncWaitNode,
    sources.ArraySourceNode,
    sources.ObjectSourceNode,
    sources.StreamSourceNode,
)
_WRONG = (KeyError, IndexError, AttributeError, TypeError, ValueError, RecursionError)
_SHUFFLES: tuple[Any, ...] = (False, "files", "global")


def serialize(dataset: Dataset, json_filepath: str = "") -> dict[str, Any]:
    """The pipeline as a nested dict, also written to a JSON file if one is given."""
    made = as_tree(dataset.node)
    if json_filepath:
        text = json.dumps(made, indent=2, sort_keys=True)
        write_atomically(json_filepath, [text.encode()])
    return made


def deserialize(
    input_dict: dict[str, Any] | None = None, json_filepath: str | None = None
) -> Dataset:
    """The pipeline of a nested dict or a JSON file."""
    if (input_dict is None) == (json_filepath is None):
        raise problem(ValueError, "deserialize: pass exactly one of input_dict and json_filepath")
    if json_filepath is not None:
        input_dict = read_json(json_filepath, "deserialize", ValueError)
    try:
        return Dataset(_to_node(input_dict))
    except _WRONG as error:
        if is_explained(error):
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise problem(
            ValueError,
            "deserialize: invalid pipeline, or not an output of serialize",
            got=what,
        ) from None


def show(dataset: Dataset, indentation: int = 2) -> None:
    """Print the pipeline as JSON."""
    print(json.dumps(as_tree(dataset.node), indent=indentation, sort_keys=True))


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """Whether two datasets have the same steps."""
    return serialize(pipeline1) == serialize(pipeline2)


@cache
def _node_kinds() -> dict[str, type[DatasetNode]]:
    """Node classes by their JSON name; a name that two classes share cannot be deserialized."""
    found: dict[str, type[DatasetNode]] = {}
    waiting: list[type[DatasetNode]] = [DatasetNode]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if hasattr(kind, "op_type") and not issubclass(kind, _WITHOUT_JSON):
            found[kind.op_type] = kind
    return found


def _to_node(tree: Any) -> DatasetNode:
    if not isinstance(tree, dict) or "op_type" not in tree:
        raise problem(ValueError, "deserialize: not a serialized dataset", got=repr(tree)[:100])
    kinds = _node_kinds()
    kind = kinds.get(tree["op_type"])
    if kind is None:
        raise _no_json(tree["op_type"], kinds)
    given = _arguments(kind, tree)
    if "operations" in given:
        given["operations"] = tuple(_to_operation(step) for step in tree["operations"])
    if kind is TFRecord:
        given["schema"] = _schema(tree)
    if issubclass(kind, sources.SourceNode):
        given["sampler"] = _source_sampler(tree)
    given["children"] = tuple(_to_node(child) for child in tree.get("children", []))
    if "decoder" in {f.name for f in fields(kind)}:
        given["decoder"] = vision.Decode()
    required = {f.name for f in fields(kind) if f.default is MISSING is f.default_factory}
    if not required <= set(given):
        raise _no_json(tree["op_type"], kinds)
    _check_children(kind, given["children"])
    return made_of(kind, given)


def _check_children(kind: type[DatasetNode], children: tuple[DatasetNode, ...]) -> None:
    """Check the children: none for a source, some for zip and concat, one for other steps."""
    is_source = issubclass(kind, sources.SourceNode)
    is_joint = kind in (operations.ZipNode, operations.ConcatNode)
    if bool(children) is is_source or (len(children) > 1 and not is_joint):
        raise ValueError(f"{len(children)} children of a {kind.op_type}")


def _no_json(name: str, kinds: dict[str, type[DatasetNode]]) -> RuntimeError:
    return problem(
        RuntimeError,
        f"deserialize: a {name} cannot be created from JSON",
        expected=f"one of {', '.join(sorted(kinds))}",
    )


def _arguments(kind: type[DatasetNode], tree: dict[str, Any]) -> dict[str, Any]:
    given = {}
    for f in fields(kind):
        key = f.metadata.get("name", f.name)
        if key in tree and f.name != "children" and f.metadata.get("json", True):
            value = tree[key]
            if isinstance(value, dict) and "python_module" in value:
                raise _lost(value)
            given[f.name] = _filled(f, tuple(value) if isinstance(value, list) else value)
    return given


def _filled(field: Any, value: Any) -> Any:
    """Drop the empty collections that MindSpore writes for missing arguments."""
    if value in ((), {}) and field.default is not MISSING:
        return field.default
    return value


def _schema(tree: dict[str, Any]) -> tuple[ColumnSchema, ...] | None:
    """The columns of a schema, in Mycelia's or MindSpore's format."""
    if tree.get("schema_file_path"):
        return schema_columns(tree["schema_file_path"])
    told = tree.get("schema") or tree.get("schema_json_string", {}).get("columns")
    return None if not told else listed_columns(told)


def _source_sampler(tree: dict[str, Any]) -> samplers.SamplerNode:
    if tree.get("sampler") is not None:
        return _to_sampler(tree["sampler"])
    shuffle = tree.get("shuffle", 0)
    shards = tree.get("num_shards") or 1
    if not tree.get("shard_equal_rows", True) and shards > 1:
        return samplers.InterleavedFilesNode(
            lanes=tree.get("num_parallel_workers") or 1,
            num_shards=shards,
            shard_id=tree["shard_id"],
            equal_rows=False,
            num_samples=tree.get("num_samples") or None,
        )
    return mixed_sampler(
        tree.get("num_samples") or None,
        _SHUFFLES[shuffle] == "global",
        None if shards == 1 else shards,
        None if shards == 1 else tree.get("shard_id"),
        tree.get("num_parallel_workers"),
    )


def _to_sampler(tree: dict[str, Any]) -> samplers.SamplerNode:
    kind = _SAMPLERS.get(tree["sampler_name"])
    if kind is None or kind is samplers.UserSamplerNode:
        raise problem(
            RuntimeError,
            "deserialize: this sampler cannot be created from JSON",
            got=str(tree["sampler_name"]),
        )
    names = {f.name for f in fields(kind)} - {"child", "number"}
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in tree.items()
        if key in names
    }
    if "shuffle" in names and "shuffle_mode" in tree:  # MindSpore's format; 0 means no shuffle
        given["shuffle"] = tree["shuffle_mode"] != 0
    given["num_samples"] = given.get("num_samples") or None
    children = tree.get("child_sampler") or []
    child = _to_sampler(children[0]) if children else None
    return made_of(kind, {**given, "child": child})


def _to_operation(tree: dict[str, Any]) -> Operation:
    name = OTHER_NAMES.get(tree["tensor_op_name"], tree["tensor_op_name"])
    kind = None if "python_module" in tree else _operation_kind(name)
    if kind is None:
        raise _lost(tree)
    given = dict(tree.get("tensor_op_params") or {})
    given.pop("device_target", None)
    if name == "Slice":
        parts = (slice(*part) if isinstance(part, list) else part for part in given["slices"])
        return kind(*parts)
    hints = get_type_hints(kind) if is_dataclass(kind) else {}
    return kind(**{key: _to_parameter(key, value, hints.get(key)) for key, value in given.items()})


def _operation_kind(name: str) -> Any:
    """The class of a transform; text and audio come last because they are slow to import."""
    later = (import_module(f"mycelia.dataset.{part}") for part in ("text", "audio"))
    for module in chain((vision, transforms), later):
        found = getattr(module, name, None)
        if isclass(found) and issubclass(found, Operation):  # never run anything else from a file
            return found
    return None


def _to_parameter(key: str, value: Any, hint: Any = None) -> Any:
    if isclass(hint) and issubclass(hint, Enum) and not issubclass(hint, (Inter, Border)):
        return hint(value)
    if key == "vocab":
        return import_module("mycelia.dataset.text").Vocab.from_dict(value)
    if key in ("interpolation", "resample"):
        return Inter[value] if isinstance(value, str) else INTERS[value]
    if key == "padding_mode":
        return BORDERS[value]
    if key == "operator":
        return transforms.Relational(value)
    if key == "transforms":
        return [_to_operation(step) for step in value]
    if key == "transform":
        return _to_operation(value)
    if key == "policy":
        return _to_policy(value)
    if key == "image_batch_format":
        return vision.ImageBatchFormat(value)
    if key == "slice_mode":
        return SliceMode(value)
    if key == "convert_mode":
        return ConvertMode(value)
    if key in ("transformation_matrix", "mean_vector"):
        return np.array(value)
    if key in ("threshold", "center", "value", "fill_value") and isinstance(value, list):
        return tuple(value)
    return value


def _to_policy(value: Any) -> Any:
    """An AutoAugment policy by its index, or the policies of RandomSelectSubpolicy."""
    if isinstance(value, int):
        return list(vision.AutoAugmentPolicy)[value]
    return [
        [(_to_operation(step["tensor_op"]), step["prob"]) for step in subpolicy]
        for subpolicy in value
    ]


def _lost(tree: dict[str, Any]) -> RuntimeError:
    return problem(
        RuntimeError,
        f"deserialize: {tree['tensor_op_name']!r} is a Python function, which JSON cannot store",
        fix="use transforms of mycelia.dataset.transforms and mycelia.dataset.vision",
    )
