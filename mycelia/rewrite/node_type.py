"""Kinds of nodes."""

from __future__ import annotations

from enum import Enum


class NodeType(Enum):
    """What the statement of a node does."""

    Unknown = 0
    CallCell = 1  # calls a cell that is not expanded
    CallPrimitive = 2  # calls an operator object
    CallModule = 3
    CallFunction = 4  # calls a function or method; a user's function is expanded
    CallMethod = 5  # moves values: names, attributes, items, tuples
    Python = 6  # any other statement, kept as it is
    Input = 7  # an argument of construct
    Output = 8  # a return
    Tree = 9  # calls a user's cell, which has a separate tree
    CellContainer = 10  # calls or names a container; its cells are nodes
    MathOps = 11  # a Python operator
    ControlFlow = 12  # if, else, for, while; its body is nodes
