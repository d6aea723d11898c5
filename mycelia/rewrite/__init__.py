"""Rewriting networks: parse a Cell into nodes, edit them, and generate a new Cell."""

from mycelia.rewrite.node import Node as Node
from mycelia.rewrite.node_type import NodeType as NodeType
from mycelia.rewrite.pattern_engine import PatternEngine as PatternEngine
from mycelia.rewrite.pattern_engine import PatternNode as PatternNode
from mycelia.rewrite.pattern_engine import Replacement as Replacement
from mycelia.rewrite.pattern_engine import VarNode as VarNode
from mycelia.rewrite.scoped_value import ScopedValue as ScopedValue
from mycelia.rewrite.scoped_value import ValueType as ValueType
from mycelia.rewrite.symbol_tree import SymbolTree as SymbolTree
