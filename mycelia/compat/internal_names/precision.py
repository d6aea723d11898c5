"""Internal names of `mindspore.train.amp`: operator lists, and inserting casts into networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.core.dtype import DType, float16, float32
from mycelia.amp import levels
from mycelia.amp.casting import OutputCast
from mycelia.nn.cell import Cell
from mycelia.ops.shapes.reshape import cast
from mycelia.rewrite import Node, NodeType, ScopedValue, SymbolTree
from mycelia.tensor.tensor import Tensor

AMP_WHITE_LIST, AMP_BLACK_LIST = levels.get_white_list(), levels.get_black_list()
AMP_AUTO_WHITE_LIST, AMP_AUTO_BLACK_LIST = list(levels._AUTO_LOWER), list(levels._AUTO_UPPER)


def amp_cast(value: Any, dtype: DType) -> Any:
    """Cast floating-point tensors to `dtype`; return anything else unchanged."""
    if isinstance(value, Tensor) and value.dtype.is_float:
        return cast(value, dtype)
    return value


class CastTo(Cell):
    """`amp_cast` as an operator of a network."""

    def __init__(self, dtype: DType) -> None:
        super().__init__(auto_prefix=False)
        self.dtype = dtype

    def construct(self, x: Any) -> Any:
        return amp_cast(x, self.dtype)


class _OutputTo16(OutputCast):
    """Wrapper that casts floating-point results to half precision."""

    def __init__(self, backbone: Cell, dtype: DType = float16) -> None:
        super().__init__(backbone, dtype)


class _OutputTo32(OutputCast):
    """Wrapper that casts floating-point results to float32."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(backbone, float32)


def _insert_cast_for_operators(
    stree: SymbolTree,
    dtype: DType,
    force_cast: bool,
    *,
    white_list: Sequence[type] | None = None,
    black_list: Sequence[type] | None = None,
) -> None:
    """Insert casts so that selected calls of a network compute in `dtype` and return float32.

    Selected are the calls of classes on the white list, or of all classes not on the black list;
    `force_cast` selects all.
    """
    for node in list(stree.nodes()):
        if node.get_node_type() == NodeType.Tree:
            inner = node.get_sub_tree()
            _insert_cast_for_operators(
                inner, dtype, force_cast, white_list=white_list, black_list=black_list
            )
        elif _is_chosen(node, force_cast, white_list, black_list):
            _insert_cast_for_operator(node, dtype)


def _is_chosen(
    node: Node,
    force_cast: bool,
    white_list: Sequence[type] | None,
    black_list: Sequence[type] | None,
) -> bool:
    if node.get_node_type() not in (NodeType.CallCell, NodeType.CallPrimitive):
        return False
    kind = node.get_instance_type()
    if force_cast:
        return not issubclass(kind, CastTo)
    if white_list is not None:
        return kind in white_list
    return black_list is not None and kind not in black_list and not issubclass(kind, CastTo)


def _insert_cast_for_operator(node: Node, dtype: DType) -> None:
    """Cast the arguments of one call to `dtype`, and its result to float32."""
    stree = node.get_symbol_tree()
    assert stree is not None
    instance = node.get_instance()
    if isinstance(instance, Cell):
        instance.to_float(dtype)  # its parameters too
    users = node.get_target_users(0)
    target = node.get_targets()[0]
    for index, argument in enumerate(node.get_args()):
        name = stree.unique_name(f"{target.value}_{index}_low")
        before = Node.create_call_cell(CastTo(dtype), [name], [argument], name=name)
        stree.insert(stree.before(node), before)
        node.set_arg(index, ScopedValue.create_naming_value(name))
    name = stree.unique_name(f"{target.value}_high")
    after = Node.create_call_cell(CastTo(float32), [name], [target], name=name)
    stree.insert(stree.after(node), after)
    for user, index in users:
        user.set_arg(index, ScopedValue.create_naming_value(name))


def _remove_duplicated_cast(stree: SymbolTree, dtype: DType) -> None:
    """Remove casts to float32 whose result is only cast back to `dtype`."""
    for node in list(stree.nodes()):
        if node.get_node_type() == NodeType.Tree:
            _remove_duplicated_cast(node.get_sub_tree(), dtype)
        elif _casts_to(node, dtype):
            _remove_pair(stree, node)


def _casts_to(node: Node, dtype: DType) -> bool:
    instance = node.get_instance()
    return isinstance(instance, CastTo) and instance.dtype is dtype


def _remove_pair(stree: SymbolTree, low: Node) -> None:
    """For `low = cast16(high)` with `high = cast32(x)`, replace `low` by `x` in its users."""
    provider = low.get_arg_providers().get(0)
    if provider is None or not _casts_to(provider[0], float32):
        return
    high = provider[0]
    for user, index in low.get_target_users(0):
        user.set_arg(index, high.get_args()[0])
    stree.erase(low)
    if not high.get_users():
        stree.erase(high)
