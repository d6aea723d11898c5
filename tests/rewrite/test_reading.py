"""Reading networks: the nodes, their types, names, arguments and links."""

from __future__ import annotations

import numpy as np
import pytest

from mycelia import Tensor, jit, nn, ops
from mycelia.rewrite import Node, NodeType, ScopedValue, SymbolTree
from tests.rewrite.networks import ConvBlock, Everything, Inner, Residual, TinyResNet, double

X = Tensor(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4))


def _facts(tree: SymbolTree) -> list[tuple[object, ...]]:
    return [
        (
            node.get_node_type().name,
            node.get_name(),
            str(node.get_targets()),
            str(node.get_args()),
            [source.get_name() for source in node.get_inputs()],
            [user.get_name() for user in node.get_users()],
        )
        for node in tree.nodes()
    ]


def _names(tree: SymbolTree, all_nodes: bool = False) -> list[str]:
    return [node.get_name() for node in tree.nodes(all_nodes)]


def _construct(tree: SymbolTree) -> str:
    return tree.get_code().split("def construct")[-1]


def test_nested_calls_become_one_node_each():
    """The values are those of MindSpore 2.10."""
    assert _facts(SymbolTree.create(ConvBlock(1, 4))) == [
        ("Input", "input_x", "[x]", "[]", [], ["conv"]),
        ("CallCell", "conv", "[conv_var]", "[x]", ["input_x"], ["bn"]),
        ("CallCell", "bn", "[bn_var]", "[conv_var]", ["conv"], ["relu"]),
        ("CallCell", "relu", "[relu_var]", "[bn_var]", ["bn"], ["return"]),
        ("Output", "return", "[]", "[relu_var]", ["relu"], []),
    ]


def test_links_end_where_control_flow_or_a_python_node_assigns():
    """MindSpore 2.10 gives the same nodes, but links `relu` to `body` over `out += identity`."""
    assert _facts(SymbolTree.create(Residual(4))) == [
        ("Input", "input_x", "[x]", "[]", [], ["name_assign", "body"]),
        ("CallMethod", "name_assign", "[identity]", "[x]", ["input_x"], []),
        ("CellContainer", "body", "[out]", "[x]", ["input_x"], []),
        ("MathOps", "compare_isnot", "[compare_var]", "[self.down, None]", [], ["if_node"]),
        ("ControlFlow", "if_node", "[]", "[compare_var]", ["compare_isnot"], []),
        ("Python", "AugAssign", "[]", "[]", [], []),
        ("CallCell", "relu", "[relu_var]", "[out]", [], ["return"]),
        ("Output", "return", "[]", "[relu_var]", ["relu"], []),
    ]


def test_every_kind_of_statement_is_read_as_in_mindspore():
    kinds = [
        (n.get_node_type().name, n.get_name()) for n in SymbolTree.create(Everything()).nodes()
    ]
    assert kinds == [
        ("Input", "input_x"),
        ("Input", "input_y"),
        ("Input", "input_scale"),
        ("CallCell", "fc"),
        ("CallPrimitive", "prim"),
        ("MathOps", "binop_mult"),
        ("Tree", "block"),
        ("CellContainer", "seq"),
        ("CallMethod", "subscript_var"),
        ("CallFunction", "range"),
        ("ControlFlow", "for_node"),
        ("MathOps", "compare_isnot"),
        ("MathOps", "boolop_and"),
        ("ControlFlow", "if_node"),
        ("ControlFlow", "else_node"),
        ("ControlFlow", "while_node"),
        ("CallFunction", "double"),
        ("CallFunction", "twice"),
        ("Python", "Assign"),
        ("Python", "AugAssign"),
        ("CallFunction", "mean"),
        ("CallMethod", "tuple"),
        ("CallMethod", "tuple_1"),
        ("Output", "return_2"),
    ]


def test_the_code_is_flat_and_keeps_what_python_may_skip():
    assert _construct(SymbolTree.create(Everything())) == (
        """(self, x, y=None, *, scale=2.0):
        fc_var = self.fc(x)
        prim_var = self.prim(fc_var)
        x = prim_var * scale
        x = self.block(x)
        x = self.seq(x)
        size = x.shape[0]
        range_var = range(self.times)
        for i in range_var:
            tanh_var = ops.tanh(x)
            x = tanh_var + i
        compare_var = y is not None
        and_var = compare_var and size > 1
        if and_var:
            x = x + y
        else:
            x = -x
        while self.times < 0:
            x = x * 2
        x = double(x, self.weight)
        x = self.twice(x)
        z = x if self.times else y
        x += 1
        mean_var = z.mean()
        a, b = (x, mean_var)
        tuple_var = (a, b)
        return tuple_var
"""
    )


def test_all_nodes_go_into_trees_containers_functions_and_control_flow():
    names = _names(SymbolTree.create(Everything()), all_nodes=True)
    assert names[6:12] == ["block", "input_x", "relu", "return", "seq", "Dense"]
    assert names[names.index("for_node") + 1] == "tanh"
    assert names[names.index("double") : names.index("twice")] == [
        "double", "input_a", "input_b", "add", "binop_mult_2", "return",
    ]  # fmt: skip
    assert names[names.index("twice") + 1 :][:2] == ["input_z", "prim_1"]


def test_all_nodes_may_leave_out_the_trees_inside():
    tree = SymbolTree.create(Everything())
    here = [n.get_name() for n in tree.all_nodes(subtree_nodes=False)]
    assert "relu" not in here and "tanh" in here
    assert [n.get_name() for n in tree.all_nodes()] == _names(tree, all_nodes=True)


def test_a_cell_that_is_called_twice_is_read_once():
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def construct(self, x):
            return self.inner(self.inner(x))

    tree = SymbolTree.create(Twice())
    first, second = tree.get_node("inner"), tree.get_node("inner_1")
    assert first.get_sub_tree() == second.get_sub_tree()
    assert _names(tree, all_nodes=True).count("relu") == 1


def test_nodes_know_what_they_call():
    network = Everything()
    tree = SymbolTree.create(network)
    assert tree.get_node("fc").get_instance() is network.fc
    assert tree.get_node("fc").get_instance_type() is nn.Dense
    assert tree.get_node("prim").get_instance_type() is ops.ReLU
    assert tree.get_node("block").get_instance_type() is Inner
    assert tree.get_node("seq").get_instance_type() is nn.SequentialCell
    assert tree.get_node("double").get_instance_type() is double
    assert tree.get_node("binop_mult").get_instance_type() is type(None)
    assert tree.get_node("range").get_instance_type() is type(None)
    assert tree.get_origin_network() is network


def test_nodes_know_their_tree():
    tree = SymbolTree.create(Everything())
    assert tree.get_node("fc").get_symbol_tree() == tree
    inner = tree.get_node("block").get_sub_tree()
    assert inner != tree and [n.get_name() for n in inner.nodes()] == ["input_x", "relu", "return"]
    assert inner.get_node("relu").get_symbol_tree() == inner
    assert tree.get_node("no such node") is None
    assert [n.get_name() for n in tree.get_inputs()] == ["input_x", "input_y", "input_scale"]


def test_nodes_are_equal_if_they_are_the_same_statement():
    tree = SymbolTree.create(ConvBlock(1, 4))
    assert tree.get_node("conv") == tree.get_node("conv") != tree.get_node("bn")
    assert len({tree.get_node("conv"), tree.get_node("conv")}) == 1
    assert tree.get_node("conv").get_handler() is tree.get_node("conv").get_handler()
    assert Node(tree.get_node("conv").get_handler()) == tree.get_node("conv")
    assert SymbolTree(tree.get_handler()) == tree
    assert repr(tree.get_node("conv")) == "Node(conv: CallCell)"


def test_arguments_by_name_and_their_providers():
    class Named(nn.Cell):
        def __init__(self):
            super().__init__()
            self.pick = Pick()

        def construct(self, x):
            a, b = ops.split(x, 1)
            return self.pick(b, other=a)

    tree = SymbolTree.create(Named())
    pick, split = tree.get_node("pick"), tree.get_node("split")
    assert pick.get_args() == [ScopedValue.create_naming_value("b")]
    assert pick.get_kwargs() == {"other": ScopedValue.create_naming_value("a")}
    assert pick.get_arg_providers() == {0: (split, 1), 1: (split, 0)}
    assert split.get_target_users() == {1: [(pick, 0)], 0: [(pick, 1)]}
    assert split.get_target_users(0) == [(pick, 1)]
    assert split.get_target_users(7) == []
    assert split.get_users() == [pick]


class Pick(nn.Cell):
    def construct(self, x, other):
        return x - other


def test_attributes_of_cells_and_of_nodes():
    conv = SymbolTree.create(ConvBlock(1, 4)).get_node("conv")
    assert conv.get_attribute("kernel_size") == (3, 3)
    assert conv.get_attributes()["cls"] is nn.Conv2d
    assert conv.get_attribute("mine") is None
    conv.set_attribute("mine", 3)
    assert conv.get_attribute("mine") == 3
    assert not hasattr(conv.get_instance(), "mine")


def test_cells_of_a_container_are_nodes_in_a_row():
    tree = SymbolTree.create(TinyResNet())
    tail = [n for n in tree.nodes(all_nodes=True) if n.get_symbol_tree() == tree]
    names = [n.get_name() for n in tail]
    conv, bn = tail[names.index("Conv2d")], tail[names.index("BatchNorm2d")]
    assert conv.get_users() == [bn] and bn.get_inputs() == [conv]
    assert {"Residual", "Residual_1"} <= set(names)
    assert tail[names.index("Residual")].get_node_type() is NodeType.Tree
    assert tail[names.index("Residual_1")].get_inputs() == []


def test_cells_are_found_by_number_in_a_list():
    class Numbered(nn.Cell):
        def __init__(self):
            super().__init__()
            self.cells_of_mine = nn.CellList([nn.ReLU(), nn.Tanh()])
            self.plain = [Inner()]

        def construct(self, x):
            x = self.cells_of_mine[1](x)
            for i in range(2):
                x = self.cells_of_mine[i](x)
            for cell in self.plain:
                x = cell(x)
            return x

    network = Numbered()
    tree = SymbolTree.create(network)
    assert tree.get_node("cells_of_mine_1").get_instance() is network.cells_of_mine[1]
    kinds = [n.get_instance_type() for n in tree.nodes(all_nodes=True)]
    assert kinds.count(nn.Tanh) == 2 and kinds.count(nn.ReLU) == 2 and Inner in kinds
    expected = network(X).asnumpy()
    np.testing.assert_array_equal(tree.get_network()(X).asnumpy(), expected)
    np.testing.assert_allclose(jit(tree.get_network())(X).asnumpy(), expected, rtol=1e-6)


def test_a_sequence_of_cells_is_a_network_too():
    network = nn.SequentialCell(nn.Dense(4, 4), nn.ReLU())
    tree = SymbolTree.create(network)
    relu = next(n for n in tree.nodes(True) if n.get_instance_type() is nn.ReLU)
    tree.replace(relu, [Node.create_call_cell(nn.Tanh(), ["x"])])
    expected = ops.tanh(network[0](X)).asnumpy()
    np.testing.assert_allclose(tree.get_network()(X).asnumpy(), expected, rtol=1e-6)
    assert isinstance(network[1], nn.ReLU)


@pytest.mark.parametrize(
    "statement", ["x = [self.relu(v) for v in (x, x)][0]", "with scope(): x = self.relu(x)"]
)
def test_other_statements_run_as_they_are(statement: str, tmp_path):
    module = _module(
        tmp_path,
        f"""
from contextlib import nullcontext as scope
from mycelia import nn

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x):
        if (n := x.ndim) > 1:
            {statement}
        return x * n
""",
    )
    network = module.Net()
    np.testing.assert_array_equal(
        SymbolTree.create(network).get_network()(X).asnumpy(), network(X).asnumpy()
    )


def test_private_names_super_closures_and_defaults_mean_what_they_meant():
    bias = Tensor(3.0)

    class Parent(nn.Cell):
        def construct(self, x):
            return x * 2

    class Child(Parent):
        def __init__(self):
            super().__init__()
            self.__secret = 5.0

        def construct(self, x, shift=bias, *rest, times=2):
            y = super().construct(x)
            return y * self.__secret + shift * times + bias + len(rest)

    network = Child()
    rewritten = SymbolTree.create(network).get_network()
    for run in (rewritten, jit(rewritten)):
        np.testing.assert_allclose(run(X).asnumpy(), X.asnumpy() * 10 + 9, rtol=1e-6)
        np.testing.assert_allclose(
            run(X, Tensor(1.0), times=3).asnumpy(), X.asnumpy() * 10 + 6, rtol=1e-6
        )


def test_globals_are_looked_up_when_the_network_runs(tmp_path):
    module = _module(
        tmp_path,
        """
from mycelia import nn
FACTOR = 2

class Net(nn.Cell):
    def construct(self, x):
        return x * FACTOR
""",
    )
    rewritten = SymbolTree.create(module.Net()).get_network()
    module.FACTOR = 5
    np.testing.assert_allclose(rewritten(X).asnumpy(), X.asnumpy() * 5)


def _module(folder, text: str):
    import importlib.util

    path = folder / "written_network.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("written_network", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_patterns_outer_variables_and_inner_functions_keep_their_meaning():
    runs = 0

    class Net(nn.Cell):
        def construct(self, x):
            nonlocal runs
            runs += 1

            def shifted(v):
                return v + factor

            match x.shape:
                case (rows, *_):
                    factor = rows
            y = (n := x * 2) + 1
            return shifted(y) + n + [i * 2 for i in (1, 1)][1]

    rewritten = SymbolTree.create(Net()).get_network()
    np.testing.assert_allclose(rewritten(X).asnumpy(), X.asnumpy() * 4 + 5, rtol=1e-6)
    assert runs == 1


def test_a_value_assigned_inside_an_expression_has_no_known_provider():
    class Net(nn.Cell):
        def construct(self, x):
            y = (n := x * 2) + 1
            return ops.add(n, y)

    tree = SymbolTree.create(Net())
    add = tree.get_node("add")
    assert add.get_arg_providers() == {1: (tree.get_node("binop_add"), 0)}


def test_calls_are_taken_out_of_statements_that_stay_as_they_are():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def construct(self, x):
            x = x * 1
            x[0] = self.relu(x[1])
            y = z = self.relu(x)
            y += self.relu(z)
            return y

    network = Net()
    tree = SymbolTree.create(network)
    assert [n.get_name() for n in tree.nodes() if n.get_instance_type() is nn.ReLU] == [
        "relu", "relu_1", "relu_2",
    ]  # fmt: skip
    expected = network(X).asnumpy()
    np.testing.assert_array_equal(tree.get_network()(X).asnumpy(), expected)
    np.testing.assert_allclose(jit(tree.get_network())(X).asnumpy(), expected, rtol=1e-6)
