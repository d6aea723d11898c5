"""Changing nodes: insert, erase, replace, set arguments, and what the new network computes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from mycelia import Tensor, jit, nn, ops
from mycelia.rewrite import Node, NodeType, ScopedValue, SymbolTree
from tests.rewrite.networks import Everything, Inner, Residual

ROWS = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
X = Tensor(ROWS)
NAME = ScopedValue.create_naming_value


class Simple(nn.Cell):
    """x -> tanh(exp(x)) + x"""

    def __init__(self):
        super().__init__()
        self.tanh = nn.Tanh()
        self.gain = 2.0

    def construct(self, x):
        y = self.tanh(ops.exp(x))
        return y + x


def scaled(value, factor=3.0):
    return value * factor


class Helped(nn.Cell):
    """A function of the user's, called twice."""

    def construct(self, x):
        a = scaled(x)
        return scaled(a, factor=2.0)


class Choosing(nn.Cell):
    """Branches, known before the run and not."""

    def __init__(self, flag=True, down=None):
        super().__init__()
        self.flag = flag
        self.down = down
        self.relu = nn.ReLU()

    def construct(self, x, y=None):
        if self.flag:
            x = self.relu(x)
        else:
            x = x * 10
        if self.down is not None and self.flag:
            x = self.down(x)
        if y is not None:
            return x + y
        return x


def _check(tree: SymbolTree, expected: np.ndarray, *inputs: Tensor) -> None:
    """The new network gives `expected` in eager mode and as a graph."""
    network = tree.get_network()
    inputs = inputs or (X,)
    np.testing.assert_allclose(network(*inputs).asnumpy(), expected, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(jit(network)(*inputs).asnumpy(), expected, rtol=2e-6, atol=1e-6)


def _tree() -> SymbolTree:
    return SymbolTree.create(Simple())


def test_insert_after_and_before():
    tree = _tree()
    double = Node.create_call_function(scaled, ["y"], [NAME("y")])
    assert tree.insert(tree.after("tanh"), double) is double
    relu = Node.create_call_cell(nn.ReLU(), ["x"], [NAME("x")], name="relu")
    tree.insert(tree.before(tree.get_node("exp")), relu)
    assert [n.get_name() for n in tree.nodes()] == [
        "input_x", "relu", "exp", "tanh", "scaled", "binop_add", "return",
    ]  # fmt: skip
    assert double.get_inputs() == [tree.get_node("tanh")]
    positive = np.maximum(ROWS, 0)
    _check(tree, 3 * np.tanh(np.exp(positive)) + positive)


def test_append_puts_a_node_before_the_return():
    tree = _tree()
    (value,) = tree.get_node("return").get_args()
    tree.append(Node.create_call_function(ops.abs, [value], [value]))
    _check(tree, np.abs(np.tanh(np.exp(ROWS)) + ROWS))


def test_replace_one_by_two():
    tree = _tree()
    old = tree.get_node("tanh")
    middle = tree.unique_name("middle")
    first = Node.create_call_cell(nn.ReLU(), [middle], old.get_args())
    last = Node.create_call_cell(nn.Sigmoid(), old.get_targets(), [NAME(middle)])
    assert tree.replace(old, [first, last]) is last
    assert old.get_symbol_tree() is None
    _check(tree, 1 / (1 + np.exp(-np.exp(ROWS))) + ROWS)


def test_erase_and_take_another_argument():
    tree = _tree()
    erased = tree.erase("exp")
    assert erased.get_name() == "exp" and tree.get_node("exp") is None
    with pytest.raises(RuntimeError, match=r"nothing assigns exp_var(.|\n)*set_arg"):
        tree.get_network()
    tree.get_node("tanh").set_arg_by_node(0, tree.get_node("input_x"))
    _check(tree, np.tanh(ROWS) + ROWS)


def test_an_erased_node_can_come_back():
    tree = _tree()
    erased = tree.erase(tree.get_node("exp"))
    tree.insert(tree.before("tanh"), erased)
    _check(tree, np.tanh(np.exp(ROWS)) + ROWS)


def test_a_new_cell_that_is_erased_leaves_nothing():
    tree = _tree()
    code = tree.get_code()
    dense = Node.create_call_cell(nn.Dense(4, 4), ["y"], [NAME("y")], name="dense")
    tree.insert(tree.after("tanh"), dense)
    assert len(tree.get_network().trainable_params()) == 2
    tree.erase(dense)
    assert tree.get_code() == code and tree.get_network().trainable_params() == []
    tree.insert(tree.after("tanh"), dense)
    assert len(tree.get_network().trainable_params()) == 2


def test_a_cell_can_move_out_of_its_container():
    network = Everything()
    tree = SymbolTree.create(network)
    tanh = tree.erase(next(n for n in tree.nodes(True) if n.get_instance_type() is nn.Tanh))
    tree.insert(tree.after("seq"), tanh)
    rewritten = tree.get_network()
    assert len(rewritten.seq) == 1 and "x = self.Tanh_1(x)" in tree.get_code()
    np.testing.assert_array_equal(rewritten(X)[0].asnumpy(), network(X)[0].asnumpy())


def test_set_arg_takes_names_constants_and_objects():
    tree = _tree()
    tree.get_node("binop_add").set_arg(1, "self.gain")
    assert repr(tree.get_node("binop_add").get_args()) == "[y, self.gain]"
    _check(tree, np.tanh(np.exp(ROWS)) + 2)
    tree.get_node("binop_add").set_arg(1, ScopedValue.create_variable_value(4.0))
    _check(tree, np.tanh(np.exp(ROWS)) + 4)
    tree.get_node("binop_add").set_arg(1, ScopedValue.create_variable_value(Tensor(5.0)))
    _check(tree, np.tanh(np.exp(ROWS)) + 5)
    assert "+ self.tensor" in tree.get_code()


def test_arguments_by_name_are_set_by_their_place():
    tree = SymbolTree.create(Helped())
    tree.get_node("scaled_1").set_arg(1, ScopedValue.create_variable_value(10.0))
    assert tree.get_node("scaled_1").get_kwargs()["factor"].value == 10.0
    _check(tree, ROWS * 30)


def test_objects_and_tuples_as_arguments_of_new_nodes():
    tree = _tree()
    args = [NAME("y"), ScopedValue.create_variable_value((2, 2, 2))]
    tree.insert(tree.after("tanh"), Node.create_call_function(ops.reshape, ["z"], args))
    kwargs = {"axis": ScopedValue.create_variable_value(0)}
    total = Node.create_call_function(ops.sum, ["z"], [NAME("z")], {"dim": kwargs["axis"]})
    tree.insert(tree.after("reshape"), total)
    tree.set_output(0, "z")
    _check(tree, np.tanh(np.exp(ROWS)).reshape(2, 2, 2).sum(0))


def test_operators_can_be_called_by_new_nodes():
    tree = _tree()
    node = Node.create_call_cell(ops.Square(), ["y"], [NAME("y")], name="square")
    tree.insert(tree.after("tanh"), node)
    assert node.get_node_type() is NodeType.CallPrimitive
    _check(tree, np.tanh(np.exp(ROWS)) ** 2 + ROWS)


def test_set_output_returns_another_variable():
    tree = _tree()
    assert tree.set_output(0, "y").get_node_type() is NodeType.Output
    _check(tree, np.tanh(np.exp(ROWS)))


def test_a_new_input_with_a_default():
    tree = _tree()
    new = Node.create_input("extra", ScopedValue.create_variable_value(1.0))
    assert new.get_name() == "input_extra" and repr(new.get_targets()) == "[extra]"
    tree.insert(tree.after("input_x"), new)
    tree.get_node("binop_add").set_arg(1, "extra")
    assert [n.get_name() for n in tree.get_inputs()] == ["input_x", "input_extra"]
    _check(tree, np.tanh(np.exp(ROWS)) + 1)
    _check(tree, np.tanh(np.exp(ROWS)) + ROWS, X, X)


def test_names_of_nodes_attributes_and_variables_are_unique():
    tree = _tree()
    assert [tree.unique_name("x"), tree.unique_name("x"), tree.unique_name()] == [
        "x_1", "x_2", "output",
    ]  # fmt: skip
    node = Node.create_call_cell(nn.ReLU(), ["y"], [NAME("y")], name="tanh")
    tree.insert(tree.after("tanh"), node)
    assert node.get_name() == "tanh_1"
    network = tree.get_network()
    assert isinstance(network.tanh, nn.Tanh) and isinstance(network.tanh_1, nn.ReLU)


def test_a_new_sub_net_is_read_too():
    tree = _tree()
    node = Node.create_call_cell(Inner(), ["x"], [NAME("x")], name="inner", is_sub_net=True)
    tree.insert(tree.after("input_x"), node)
    assert node.get_node_type() is NodeType.Tree
    inner = node.get_sub_tree()
    relu = inner.get_node("relu")
    inner.replace(relu, [Node.create_call_cell(nn.Tanh(), relu.get_targets(), relu.get_args())])
    _check(tree, np.tanh(np.exp(np.tanh(ROWS))) + np.tanh(ROWS))


def test_nodes_inside_control_flow_are_changed_like_others():
    tree = SymbolTree.create(Choosing())
    relu = tree.get_node("relu")
    tree.replace(relu, [Node.create_call_cell(nn.Tanh(), ["x"], [NAME("x")])])
    tree.insert(tree.after("Tanh"), Node.create_call_function(ops.exp, ["x"], [NAME("x")]))
    _check(tree, np.exp(np.tanh(ROWS)))
    tree.erase("else_node")
    assert "else" not in tree.get_code()
    _check(tree, np.exp(np.tanh(ROWS)))


def test_a_node_after_an_if_comes_after_its_else():
    tree = SymbolTree.create(Choosing(flag=False))
    tree.insert(tree.after("if_node"), Node.create_call_function(ops.exp, ["x"], [NAME("x")]))
    tree.insert(tree.before("else_node"), Node.create_call_function(ops.abs, ["x"], [NAME("x")]))
    _check(tree, np.exp(10 * np.abs(ROWS)))
    tree.erase("if_node")
    _check(tree, np.exp(np.abs(ROWS)))


def test_known_branches_are_chosen():
    tree = SymbolTree.create(Choosing(flag=True, down=None))
    tree.flatten_static_if_control_flow()
    names = [n.get_name() for n in tree.nodes()]
    assert names.count("if_node_2") == 1 and "if_node" not in names and "if_node_1" not in names
    _check(tree, np.maximum(ROWS, 0))
    _check(tree, np.maximum(ROWS, 0) + ROWS, X, X)
    tree = SymbolTree.create(Choosing(flag=False, down=nn.Tanh()))
    tree.flatten_static_if_control_flow()
    _check(tree, ROWS * 10)


def test_the_body_of_a_control_flow_takes_its_place():
    tree = SymbolTree.create(Choosing())
    tree.flatten_nodes(tree.get_node("else_node"))
    _check(tree, ROWS * 10)
    tree.flatten_nodes(tree.get_node("if_node_2"), erase_nodes_after_return=True)
    assert [n.get_name() for n in tree.nodes()][-2:] == ["binop_add", "return"]
    _check(tree, ROWS * 11, X, X)


def test_a_function_of_the_users_is_rewritten_for_this_network_only():
    tree = SymbolTree.create(Helped())
    product = next(n for n in tree.nodes(all_nodes=True) if n.get_name() == "binop_mult")
    inserted = Node.create_call_function(ops.exp, ["value"], [NAME("value")])
    tree.insert(tree.before(product), inserted)
    _check(tree, np.exp(np.exp(ROWS) * 3) * 2)
    np.testing.assert_allclose(scaled(X).asnumpy(), ROWS * 3)
    np.testing.assert_allclose(Helped()(X).asnumpy(), ROWS * 6, rtol=1e-6)


def test_a_method_is_rewritten_in_the_new_class():
    network = Everything()
    tree = SymbolTree.create(network)
    tree.replace(
        tree.get_node("prim_1"), [Node.create_call_cell(nn.Tanh(), ["z"], [NAME("z")], name="act")]
    )
    rewritten = tree.get_network()
    np.testing.assert_allclose(rewritten.twice(X).asnumpy(), 2 * np.tanh(ROWS), rtol=1e-6)
    np.testing.assert_allclose(network.twice(X).asnumpy(), 2 * np.maximum(ROWS, 0))
    eager, graph = rewritten(X, X), jit(rewritten)(X, X)
    np.testing.assert_allclose(eager[0].asnumpy(), graph[0].asnumpy(), rtol=1e-5)


def test_containers_grow_and_shrink_and_the_old_one_stays():
    network = Everything()
    dense, tanh = network.seq
    tree = SymbolTree.create(network)
    nodes = {n.get_name(): n for n in tree.nodes(all_nodes=True)}
    tree.insert(tree.after(nodes["Dense"]), Node.create_call_cell(nn.ReLU(), ["x"]))
    tree.erase(nodes["Tanh"])
    rewritten = tree.get_network()
    assert [type(cell) for cell in rewritten.seq] == [nn.Dense, nn.ReLU]
    assert rewritten.seq[0] is dense and list(network.seq) == [dense, tanh]
    np.testing.assert_allclose(
        rewritten.seq(X).asnumpy(), np.maximum(dense(X).asnumpy(), 0), rtol=1e-6
    )
    with pytest.raises(TypeError, match="a container can hold only cells"):
        tree.insert(tree.after(nodes["Dense"]), Node.create_call_function(ops.exp, ["x"]))
    with pytest.raises(ValueError, match="in a container are fixed"):
        nodes["Dense"].set_arg(0, "y")


def test_the_new_network_shares_parameters_and_names_new_ones():
    network = Residual(2)
    tree = SymbolTree.create(network)
    new = Node.create_call_cell(nn.Conv2d(2, 2, 1), ["x"], [NAME("x")], name="first")
    tree.insert(tree.after("input_x"), new)
    rewritten = tree.get_network()
    old = {id(p): p.name for p in network.get_parameters()}
    names = [p.name for p in rewritten.get_parameters()]
    assert all(old.get(id(p)) in (None, p.name) for p in rewritten.get_parameters())
    assert sorted(set(names) - set(old.values())) == ["first.weight"]
    assert len(names) == len(set(names)) == len(old) + 1
    assert isinstance(rewritten, Residual) and type(rewritten).__name__ == "ResidualOpt"


def test_a_rewritten_network_can_be_rewritten():
    tree = _tree()
    tree.insert(tree.after("tanh"), Node.create_call_function(ops.abs, ["y"], [NAME("y")]))
    again = SymbolTree.create(tree.get_network())
    assert [n.get_name() for n in again.nodes()][3] == "abs"
    again.insert(again.after("abs"), Node.create_call_function(ops.exp, ["y"], [NAME("y")]))
    _check(again, np.exp(np.abs(np.tanh(np.exp(ROWS)))) + ROWS)


def test_the_source_of_the_new_network_can_be_read():
    tree = _tree()
    source = inspect.getsource(tree.get_network().construct)
    assert "exp_var = ops.exp(x)" in source
    assert source.strip() in tree.get_code()


def test_errors_of_the_new_network_show_its_line():
    tree = _tree()
    tree.get_node("exp").set_arg(0, ScopedValue.create_variable_value("text"))
    network = tree.get_network()
    with pytest.raises(TypeError, match=r"exp_var = ops.exp\('text'\)"):
        network(X)


def test_described_inputs_and_hooks_stay():
    network = Simple()
    network.set_inputs(Tensor(shape=(None, 4), dtype=X.dtype))
    seen = []
    network.register_forward_hook(lambda cell, inputs, output: seen.append(output))
    rewritten = SymbolTree.create(network).get_network()
    rewritten(X)
    assert len(seen) == 1
    with pytest.raises(ValueError):
        rewritten(Tensor(np.ones((2, 5), np.float32)))


def test_the_code_goes_to_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree = _tree()
    assert tree.get_saved_file_name() == "./network_define.py"
    tree.save_network_to_file()
    assert (tmp_path / "network_define.py").read_text() == tree.get_code()
    tree.set_saved_file_name("other")
    assert tree.get_saved_file_name() == "other.py"


def test_tables(capsys):
    tree = SymbolTree.create(Everything())
    tree.print_node_tabulate()
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].split() == "node type name codes arg providers target users".split()
    fc = next(line for line in lines if line.startswith("CallCell"))
    assert fc.split("  ")[0] == "CallCell" and "fc_var = self.fc(x)" in fc
    assert "0: ('input_x', 0)" in fc and "0: [('prim', 0)]" in fc
    tree.print_node_tabulate(all_nodes=True)
    assert "relu_var = self.relu(x)" in capsys.readouterr().out
    tree.dump()
    assert "Inner:" in capsys.readouterr().out


def test_wrong_arguments():
    tree, other = _tree(), _tree()
    node = tree.get_node("tanh")
    new = Node.create_call_cell(nn.ReLU(), ["y"], [NAME("y")])
    with pytest.raises(TypeError, match="'network' must be Cell"):
        SymbolTree.create(3)
    with pytest.raises(TypeError, match="'node' must be Node or str"):
        tree.before(3)
    with pytest.raises(RuntimeError, match="does not belong(.|\n)*nope(.|\n)*one of input_x, exp"):
        tree.after("nope")
    with pytest.raises(TypeError, match="'position' must be Position"):
        tree.insert(3, new)
    with pytest.raises(ValueError, match="position does not belong"):
        tree.insert(other.after("tanh"), new)
    with pytest.raises(ValueError, match="cannot be inserted again"):
        tree.insert(tree.after("tanh"), node)
    with pytest.raises(ValueError, match="an input must be next to other inputs"):
        tree.insert(tree.after("tanh"), Node.create_input("z"))
    tree.insert(tree.after("input_x"), Node.create_input("a", ScopedValue.create_variable_value(1)))
    for name in ("x", "b"):
        with pytest.raises(ValueError, match="do not form a valid function signature"):
            tree.insert(tree.after("input_a"), Node.create_input(name))
    with pytest.raises(TypeError, match="'default' must be a constant"):
        Node.create_input("c", NAME("x"))
    with pytest.raises(ValueError, match="'name' must be a valid Python name"):
        Node.create_call_cell(nn.ReLU(), ["x"], name="my relu")
    with pytest.raises(RuntimeError, match="does not belong"):
        tree.erase(other.get_node("tanh"))
    with pytest.raises(TypeError, match="'new_nodes' must be list or tuple"):
        tree.replace(node, new)
    with pytest.raises(ValueError, match="new_nodes must not be empty"):
        tree.replace(node, [])
    with pytest.raises(ValueError, match="an input cannot be replaced"):
        tree.replace(tree.get_node("input_x"), [new])
    with pytest.raises(ValueError, match=r"in range of \[0, 1\), but got 5"):
        node.set_arg(5, "x")
    with pytest.raises(TypeError, match="'arg' must be ScopedValue or str"):
        node.set_arg(0, 3)
    with pytest.raises(ValueError, match="not a valid Python name"):
        node.set_arg(0, "not a name")
    with pytest.raises(TypeError, match="'src_node' must be Node"):
        node.set_arg_by_node(0, "exp")
    with pytest.raises(RuntimeError, match="out_idx is out of range"):
        node.set_arg_by_node(0, tree.get_node("exp"), 2)
    with pytest.raises(RuntimeError, match="out_idx is required"):
        node.set_arg_by_node(0, tree.get_node("return"))
    with pytest.raises(TypeError, match="must be NodeType.Tree, but got NodeType.CallCell"):
        node.get_sub_tree()
    with pytest.raises(ValueError, match="can only be ControlFlow"):
        tree.flatten_nodes(node)
    with pytest.raises(TypeError, match="'cell' must be Cell or Primitive"):
        Node.create_call_cell(3, ["x"])
    with pytest.raises(TypeError, match="'targets' must be list or tuple"):
        Node.create_call_cell(nn.ReLU(), "x")
    with pytest.raises(TypeError, match="'args' must be ScopedValue"):
        Node.create_call_cell(nn.ReLU(), ["x"], ["y"])
    with pytest.raises(TypeError, match="'function' must be function or type"):
        Node.create_call_function(3, ["x"])
    with pytest.raises(TypeError, match="'all_nodes' must be bool"):
        tree.nodes("all")


@jit
def compiled(x):
    return x


class Decorated(nn.Cell):
    @jit
    def construct(self, x):
        return x


class Generating(nn.Cell):
    def construct(self, x):
        yield x


class Around(nn.Cell):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        return self.inner(compiled(x))


def test_what_cannot_be_read_is_an_error_with_the_line():
    with pytest.raises(TypeError, match=r"Decorated cannot be rewritten(.|\n)*@jit"):
        SymbolTree.create(Decorated())
    with pytest.raises(TypeError, match=r"construct is a generator(.|\n)*def construct\(self, x\)"):
        SymbolTree.create(Generating())

    namespace = {"nn": nn}
    exec("class Typed(nn.Cell):\n    def construct(self, x):\n        return x", namespace)
    with pytest.raises(TypeError, match=r"source of construct is not available(.|\n)*in a file"):
        SymbolTree.create(namespace["Typed"]())


def test_a_cell_inside_that_cannot_be_read_is_called_as_it_is():
    tree = SymbolTree.create(Around(Decorated()))
    assert tree.get_node("inner").get_node_type() is NodeType.CallCell
    _check(tree, ROWS)
