"""The types that program files may name: the framework's operators, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

from mycelia._engine.ir.serialization import SerializableTypes
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia._engine.operators.window import Window

_PACKAGE = "mycelia."


@cache
def vocabulary() -> SerializableTypes:
    """All operators of the package: public ones by name, others as `file.Name`."""
    return SerializableTypes({_name(cls): cls for cls in _operators(Op)}, {"Window": Window}, _make)


def _operators(cls: type[Op]) -> list[type[Op]]:
    operators = [cls] if cls.__module__.startswith(_PACKAGE) else []
    return operators + [op for inner in cls.__subclasses__() for op in _operators(inner)]


def _name(cls: type[Op]) -> str:
    if REGISTRY.get(cls.__name__) is cls:
        return cls.__name__
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"


def _make(cls: type, fields: dict[str, Any]) -> Op:
    """An operator with these fields, even if its class has a different constructor."""
    op: Op = object.__new__(cls)
    Op.__init__(op, **fields)
    return op
