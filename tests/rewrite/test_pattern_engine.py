"""Patterns: which groups of nodes fit, and what takes their place."""

from __future__ import annotations

import numpy as np
import pytest

from mycelia import Tensor, jit, nn, ops
from mycelia.rewrite import (
    Node,
    PatternEngine,
    PatternNode,
    Replacement,
    ScopedValue,
    SymbolTree,
    VarNode,
)
from tests.rewrite.networks import ConvBlock, TinyResNet

ROWS = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
X = Tensor(ROWS)


class By(Replacement):
    """One new cell in the place of a chain."""

    def __init__(self, cell):
        self.cell = cell
        self.seen = []

    def build(self, pattern, is_chain_pattern, matched):
        self.seen.append((is_chain_pattern, [node.get_name() for node in matched.values()]))
        first = next(iter(matched.values()))
        return [Node.create_call_cell(self.cell(), ["new"], first.get_args())]


class Chain(nn.Cell):
    """tanh of relu, with the order of the statements to be chosen."""

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()
        self.tanh = nn.Tanh()

    def construct(self, x):
        return self.tanh(self.relu(x))


class Leaking(Chain):
    """The value between is read by someone else."""

    def construct(self, x):
        y = self.relu(x)
        z = self.tanh(y)
        if x.ndim > 1:
            z = z + y
        return z


class Moved(Chain):
    """The argument means something else where the chain ends."""

    def construct(self, x):
        y = self.relu(x)
        x = x * 2
        z = self.tanh(y)
        return z + x


class Broken(Chain):
    """A statement that is not opened changes the value between."""

    def construct(self, x):
        x = self.relu(x)
        x += 1
        x = self.tanh(x)
        return x


class Looping(Chain):
    """A chain in a loop."""

    def construct(self, x):
        for _ in range(2):
            x = self.tanh(self.relu(x))
        return x


class Keeping(Chain):
    """A chain in a loop, whose value between is read after the loop."""

    def construct(self, x):
        y = x
        for _ in range(2):
            y = self.relu(x)
            x = self.tanh(y)
        return x + y


class Adding(Chain):
    """Two branches meet."""

    def construct(self, x):
        return ops.add(self.relu(x), self.tanh(x))


def test_a_chain_is_replaced_and_its_users_get_the_new_value():
    tree = SymbolTree.create(Chain())
    new = By(nn.Sigmoid)
    assert PatternEngine([nn.ReLU, nn.Tanh], new).apply(tree) is True
    assert new.seen == [(True, ["relu", "tanh"])]
    expected = 1 / (1 + np.exp(-ROWS))
    network = tree.get_network()
    np.testing.assert_allclose(network(X).asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(jit(network)(X).asnumpy(), expected, rtol=1e-6)
    assert PatternEngine([nn.ReLU, nn.Tanh], new).apply(tree) is False


@pytest.mark.parametrize("network", [Leaking, Moved, Broken, Keeping])
def test_a_group_that_others_depend_on_is_left_alone(network):
    tree = SymbolTree.create(network())
    assert PatternEngine([nn.ReLU, nn.Tanh], By(nn.Sigmoid)).apply(tree) is False
    np.testing.assert_array_equal(tree.get_network()(X).asnumpy(), network()(X).asnumpy())


def test_chains_inside_loops_are_found():
    tree = SymbolTree.create(Looping())
    assert PatternEngine([nn.ReLU, nn.Tanh], By(nn.Sigmoid)).apply(tree)
    once = 1 / (1 + np.exp(-ROWS))
    np.testing.assert_allclose(tree.get_network()(X).asnumpy(), 1 / (1 + np.exp(-once)), rtol=1e-6)


def test_no_new_nodes_leave_a_match_as_it_is():
    class Nothing(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            return []

    tree = SymbolTree.create(Chain())
    code = tree.get_code()
    assert PatternEngine([nn.ReLU], Nothing()).apply(tree) is False
    assert tree.get_code() == code


def test_a_pattern_with_branches():
    class Fused(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            assert not is_chain_pattern and list(matched) == ["left", "right", "sum"]
            x = matched["left"].get_args()
            return [Node.create_call_cell(nn.GELU(), ["y"], x)]

    inputs = [PatternNode("left", nn.ReLU), PatternNode("right", nn.Tanh)]
    engine = PatternEngine(PatternNode("sum", ops.add, inputs), Fused())
    assert engine.pattern().name() == "sum"
    tree = SymbolTree.create(Adding())
    assert engine.apply(tree)
    np.testing.assert_allclose(tree.get_network()(X).asnumpy(), nn.GELU()(X).asnumpy(), rtol=1e-6)


def test_a_var_node_fits_anything_and_stays():
    class Swapped(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            (target,) = matched["placeholder"].get_targets()
            return [Node.create_call_cell(nn.Sigmoid(), ["y"], [target])]

    tree = SymbolTree.create(Chain())
    pattern = PatternNode("tanh", nn.Tanh, [VarNode()])
    assert VarNode().name() == "placeholder" and VarNode().match(tree.get_node("input_x"))
    assert PatternEngine(pattern, Swapped()).apply(tree)
    np.testing.assert_allclose(
        tree.get_network()(X).asnumpy(), 1 / (1 + np.exp(-np.maximum(ROWS, 0))), rtol=1e-6
    )


def test_patterns_from_lists_and_nodes():
    chain = PatternNode.create_pattern_from_list([nn.Conv2d, nn.ReLU])
    assert (chain.name(), chain.type()) == (f"1-{nn.ReLU}", nn.ReLU)
    assert [p.name() for p in chain.get_inputs()] == [f"0-{nn.Conv2d}"]
    tree = SymbolTree.create(ConvBlock(1, 2))
    one = PatternNode.from_node(tree.get_node("bn"))
    assert (one.name(), one.type(), one.get_inputs()) == ("bn", nn.BatchNorm2d, [])
    whole = PatternNode.create_pattern_from_node(tree.get_node("bn"))
    (conv,) = whole.get_inputs()
    assert (conv.name(), conv.type(), conv.get_inputs()[0].name()) == ("conv", nn.Conv2d, "input_x")
    assert one.match(tree.get_node("bn")) and not one.match(tree.get_node("conv"))
    one.add_input(conv)
    assert one.get_inputs() == [conv]
    one.set_inputs([])
    assert one.get_inputs() == []


def test_wrong_arguments():
    pattern = PatternNode("relu", nn.ReLU)
    with pytest.raises(TypeError, match="'replacement' must be Replacement"):
        PatternEngine([nn.ReLU])
    with pytest.raises(TypeError, match="'pattern' must be PatternNode or list"):
        PatternEngine(3, By(nn.ReLU))
    with pytest.raises(ValueError, match="at least one type"):
        PatternEngine([], By(nn.ReLU))
    with pytest.raises(TypeError, match="'stree' must be SymbolTree"):
        PatternEngine(pattern, By(nn.ReLU)).apply(3)
    with pytest.raises(TypeError, match="'pattern_node_name' must be str"):
        PatternNode(3)
    with pytest.raises(TypeError, match="'node' must be PatternNode"):
        pattern.add_input(3)
    with pytest.raises(TypeError, match="'inputs' must be list or tuple"):
        pattern.set_inputs(3)
    with pytest.raises(TypeError, match="'node' must be Node"):
        pattern.match(3)
    with pytest.raises(TypeError, match="abstract"):
        Replacement()


class FusedConv(nn.Cell):
    """Convolution and normalization in inference, as one convolution, then the activation."""

    def __init__(self, conv, bn, activation):
        super().__init__()
        self.conv = folded(conv, bn)
        self.activation = activation

    def construct(self, x):
        return self.activation(self.conv(x))


def folded(conv, bn):
    """One convolution that gives what `bn(conv(x))` gives in inference."""
    factor = bn.gamma.asnumpy() / np.sqrt(bn.moving_variance.asnumpy() + bn.eps)
    bias = bn.beta.asnumpy() - bn.moving_mean.asnumpy() * factor
    return nn.Conv2d(
        conv.in_channels,
        conv.out_channels,
        conv.kernel_size,
        has_bias=True,
        weight_init=Tensor(conv.weight.asnumpy() * factor[:, None, None, None]),
        bias_init=Tensor(bias),
    )


class FuseConvBnRelu(Replacement):
    def build(self, pattern, is_chain_pattern, matched):
        conv, bn, relu = matched.values()
        cell = FusedConv(conv.get_instance(), bn.get_instance(), relu.get_instance())
        return [Node.create_call_cell(cell, ["fused"], conv.get_args(), name="fused")]


def test_conv_bn_relu_becomes_one_cell_everywhere():
    random = np.random.default_rng(0)
    network = TinyResNet().set_train(False)
    for _, cell in network.cells_and_names():
        if isinstance(cell, nn.BatchNorm2d):
            for part, low in (
                (cell.gamma, 0.5),
                (cell.beta, -1),
                (cell.moving_mean, -1),
                (cell.moving_variance, 0.5),
            ):
                part.set_data(Tensor(random.uniform(low, 2, part.shape).astype(np.float32)))
    x = Tensor(random.normal(size=(2, 1, 5, 5)).astype(np.float32))
    expected = network(x).asnumpy()
    tree = SymbolTree.create(network)
    assert PatternEngine([nn.Conv2d, nn.BatchNorm2d, nn.ReLU], FuseConvBnRelu()).apply(tree)
    kinds = [node.get_instance_type() for node in tree.nodes(all_nodes=True)]
    assert kinds.count(FusedConv) == 4 and kinds.count(nn.BatchNorm2d) == 2
    rewritten = tree.get_network()
    np.testing.assert_allclose(rewritten(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jit(rewritten)(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(network(x).asnumpy(), expected)


def test_names_of_new_variables_can_be_made_unique():
    class Two(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            (node,) = matched.values()
            middle = ScopedValue.create_naming_value(node.get_symbol_tree().unique_name("middle"))
            return [
                Node.create_call_cell(nn.Tanh(), [middle], node.get_args()),
                Node.create_call_cell(nn.Tanh(), node.get_targets(), [middle]),
            ]

    tree = SymbolTree.create(Adding())
    assert PatternEngine([nn.ReLU], Two()).apply(tree)
    np.testing.assert_allclose(
        tree.get_network()(X).asnumpy(), np.tanh(np.tanh(ROWS)) + np.tanh(ROWS), rtol=1e-6
    )
