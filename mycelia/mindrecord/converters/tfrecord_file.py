"""A converter from TFRecord files of examples to MindRecord."""

from __future__ import annotations

from collections.abc import Iterator
from string import punctuation
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import decoded
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.mindrecord.converters.conversion import write_rows
from mycelia.mindrecord.example import Values
from mycelia.mindrecord.exceptions import SUCCESS, ConversionStatus
from mycelia.mindrecord.names import check_file_name
from mycelia.mindrecord.tfrecord import FixedLenFeature, read_examples
from mycelia.mindrecord.writer import FileWriter

_TYPES = {
    "string": "string",
    "float16": "float32",
    "float32": "float32",
    "float64": "float64",
    "uint32": "int64",
    "int64": "int64",
    "uint64": "int64",
} | dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16", "bool"), "int32")
_SPECIAL = str.maketrans(dict.fromkeys(punctuation.replace("_", "") + " ", "_"))


class TFRecordToMR(CheckedKeywords):
    """Writes the features of `feature_dict`: scalars, strings, bytes, and numeric lists.

    Its values are `FixedLenFeature(shape, dtype)`, Mycelia's or TensorFlow's; a dtype may also be
    a name. Strings named in `bytes_fields` are stored as bytes.
    """

    def __init__(
        self,
        source: str,
        destination: str,
        feature_dict: dict[str, FixedLenFeature],
        bytes_fields: list[str] | None = None,
    ) -> None:
        for argument, value in (("source", source), ("destination", destination)):
            if not isinstance(value, str):
                raise problem(ValueError, f"'{argument}' must be a str, got {value!r}")
            check_file_name(value, argument)
        self.source = source
        self.destination = destination
        self.feature_dict = _checked_features(feature_dict)
        self.bytes_fields_list = _checked_bytes_fields(bytes_fields, feature_dict)
        self.mindrecord_schema = {
            _field_name(name): self._schema_entry(name, feature)
            for name, feature in feature_dict.items()
        }

    def run(self) -> ConversionStatus:
        """Convert the file."""
        writer = FileWriter(self.destination)
        writer.add_schema(self.mindrecord_schema, "TFRecord to MindRecord")
        rows = self.tfrecord_iterator()
        write_rows(writer, rows, label="TFRecordToMR", parallel_writer=True)
        return SUCCESS

    def transform(self) -> None:
        """Convert the file."""
        self.run()

    def tfrecord_iterator(self) -> Iterator[dict[str, Any]]:
        """The converted rows."""
        for number, example in enumerate(read_examples(self.source)):
            yield {
                _field_name(name): self._value(number, name, feature, example.get(name))
                for name, feature in self.feature_dict.items()
            }

    def _schema_entry(self, name: str, feature: FixedLenFeature) -> dict[str, Any]:
        kind, shape = _type_of(name, feature), list(feature.shape)
        if not shape:
            return {"type": "bytes" if _field_name(name) in self.bytes_fields_list else kind}
        if len(shape) != 1 or not is_int(shape[0]) or shape[0] < 1 or kind == "string":
            raise problem(
                ValueError,
                f"TFRecordToMR: the feature {name!r} cannot be converted",
                got=f"shape {shape} of {kind}",
                expected="a shape of [], or of [n] for numbers",
            )
        return {"type": kind, "shape": [int(shape[0])]}

    def _value(
        self, number: int, name: str, feature: FixedLenFeature, values: Values | None
    ) -> Any:
        size = feature.shape[0] if feature.shape else 1
        default = getattr(feature, "default_value", None)
        if values is None or len(values) == 0:
            values = None if default is None else _as_values(default, size)
        kind = _type_of(name, feature)
        is_text = isinstance(values, list)
        if values is None or len(values) != size or is_text != (kind == "string"):
            raise problem(
                ValueError,
                f"TFRecordToMR: example {number} does not match feature_dict at {name!r}",
                got="nothing" if values is None else f"{len(values)} values",
                expected=f"{size} of {kind}",
            )
        if isinstance(values, list):
            raw = values[0]
            return raw if _field_name(name) in self.bytes_fields_list else decoded(raw)
        if feature.shape:
            return values.astype(kind)
        return int(values[0]) if kind.startswith("int") else float(values[0])


def _as_values(default: Any, size: int) -> Values:
    if isinstance(default, (str, bytes)):
        return [default.encode() if isinstance(default, str) else default]
    return np.broadcast_to(np.asarray(default), (size,))


def _field_name(name: str) -> str:
    return name.translate(_SPECIAL)


def _type_of(name: str, feature: FixedLenFeature) -> str:
    dtype = feature.dtype
    shown = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    known = shown or getattr(dtype, "__name__", str(dtype))
    if known not in _TYPES:
        raise problem(
            ValueError,
            f"TFRecordToMR: the feature {name!r} has the unsupported type {dtype!r}",
            expected=", ".join(_TYPES),
        )
    return _TYPES[known]


def _checked_features(features: Any) -> dict[str, FixedLenFeature]:
    fixed = isinstance(features, dict) and all(
        hasattr(value, "shape") and hasattr(value, "dtype") for value in features.values()
    )
    if not fixed:
        raise problem(
            ValueError,
            "TFRecordToMR: 'feature_dict' must be a dict of FixedLenFeature",
            got=repr(features),
        )
    return features


def _checked_bytes_fields(names: Any, features: dict[str, FixedLenFeature]) -> list[str]:
    if names is None:
        return []
    if not isinstance(names, list):
        raise problem(ValueError, f"'bytes_fields' must be a list of str, got {names!r}")
    for name in names:
        if name not in features or _type_of(name, features[name]) != "string":
            raise problem(
                ValueError,
                f"'bytes_fields': {name!r} is not a string feature",
                expected=", ".join(features),
            )
    return [_field_name(name) for name in names]
