"""Whole tasks on a network with nested cells: changed, compared, trained."""

from __future__ import annotations

import numpy as np

import mycelia as ms
from mycelia import Tensor, jit, nn
from mycelia.rewrite import Node, SymbolTree
from tests.rewrite.networks import ConvBlock, TinyResNet
from tests.rewrite.test_pattern_engine import folded

RANDOM = np.random.default_rng(1)
IMAGES = Tensor(RANDOM.normal(size=(4, 1, 5, 5)).astype(np.float32))


def _replace_all(tree: SymbolTree, old: type, new: type) -> int:
    found = [n for n in tree.nodes(all_nodes=True) if n.get_instance_type() is old]
    for node in found:
        made = Node.create_call_cell(new(), node.get_targets(), node.get_args(), name="act")
        tree.replace(node, [made])
    return len(found)


class _Gelu(TinyResNet):
    """The same network, written with GELU by hand."""

    def __init__(self):
        super().__init__()
        self.stem.relu = nn.GELU()
        for layer in self.layers:
            layer.relu = nn.GELU()
            layer.body[0].relu = nn.GELU()
        self.tail[2] = nn.GELU()


def test_all_relu_become_gelu():
    network = TinyResNet().set_train(False)
    tree = SymbolTree.create(network)
    assert _replace_all(tree, nn.ReLU, nn.GELU) == 6
    assert _replace_all(tree, nn.ReLU, nn.GELU) == 0
    by_hand = _Gelu().set_train(False)
    by_hand.load_state_dict(network.state_dict())
    expected = by_hand(IMAGES).asnumpy()
    rewritten = tree.get_network()
    assert np.abs(network(IMAGES).asnumpy() - expected).max() > 1e-4
    np.testing.assert_allclose(rewritten(IMAGES).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    ms.set_context(mode=ms.GRAPH_MODE)
    np.testing.assert_allclose(rewritten(IMAGES).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_convolution_and_normalization_are_fused():
    network = ConvBlock(1, 3).set_train(False)
    network.bn.moving_mean.set_data(Tensor([0.1, -0.2, 0.3]))
    network.bn.moving_variance.set_data(Tensor([0.5, 2.0, 1.5]))
    network.bn.gamma.set_data(Tensor([1.5, 0.5, -1.0]))
    expected = network(IMAGES).asnumpy()
    tree = SymbolTree.create(network)
    conv, bn = tree.get_node("conv"), tree.get_node("bn")
    cell = folded(conv.get_instance(), bn.get_instance())
    tree.replace(bn, [Node.create_call_cell(cell, bn.get_targets(), conv.get_args(), name="fused")])
    tree.erase(conv)
    assert "self.bn" not in tree.get_code() and "bn_var = self.fused(x)" in tree.get_code()
    rewritten = tree.get_network()
    np.testing.assert_allclose(rewritten(IMAGES).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jit(rewritten)(IMAGES).asnumpy(), expected, rtol=1e-5, atol=1e-6)


class Watch(nn.Cell):
    """Keeps the shapes that pass, and changes nothing."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def construct(self, x):
        self.shapes.append(x.shape)
        return x


def test_a_debug_cell_after_every_convolution():
    network = TinyResNet().set_train(False)
    expected = network(IMAGES).asnumpy()
    tree = SymbolTree.create(network)
    watches = []
    for node in [n for n in tree.nodes(all_nodes=True) if n.get_instance_type() is nn.Conv2d]:
        watches.append(Watch())
        inside = Node.create_call_cell(watches[-1], node.get_targets(), node.get_targets())
        tree.insert(tree.after(node), inside)
    np.testing.assert_array_equal(tree.get_network()(IMAGES).asnumpy(), expected)
    assert [watch.shapes for watch in watches] == [[(4, 4, 5, 5)]] * 6


def test_dropout_is_erased():
    network = TinyResNet().set_train(True)
    tree = SymbolTree.create(network)
    dropout = tree.get_node("dropout")
    (user,) = dropout.get_users()
    user.set_arg(0, dropout.get_args()[0])
    tree.erase(dropout)
    assert "dropout" not in tree.get_code()
    rewritten = tree.get_network()
    runs = [rewritten(IMAGES).asnumpy() for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    assert np.abs(network(IMAGES).asnumpy() - network(IMAGES).asnumpy()).max() > 0


def test_a_rewritten_network_learns_in_graph_mode():
    ms.set_seed(3)
    ms.set_context(mode=ms.GRAPH_MODE)
    network = TinyResNet()
    tree = SymbolTree.create(network)
    _replace_all(tree, nn.ReLU, nn.GELU)
    dropout = tree.get_node("dropout")
    head = Node.create_call_cell(
        nn.Dense(4, 4), dropout.get_targets(), dropout.get_args(), name="head"
    )
    tree.replace(dropout, [head])
    rewritten = tree.get_network()
    weight = rewritten.head.weight
    assert weight.name == "head.weight"
    before = weight.asnumpy()
    optimizer = nn.Adam(rewritten.trainable_params(), 1e-2)
    loss = nn.WithLossCell(rewritten, nn.CrossEntropyLoss())
    step = nn.TrainOneStepCell(loss, optimizer).set_train()
    labels = Tensor([0, 1, 2, 1], ms.int32)
    losses = [float(step(IMAGES, labels)) for _ in range(15)]
    assert losses[-1] < 0.6 * losses[0]
    assert np.abs(weight.asnumpy() - before).max() > 1e-3
    shared = [
        a is b
        for a, b in zip(
            network.stem.conv.get_parameters(), rewritten.stem.conv.get_parameters(), strict=True
        )
    ]
    assert shared == [True]
