"""Boosted training: the same numbers as MindSpore, or as the steps written out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, boost, nn, ops

X = np.array([[1.0, 2.0], [0.5, -1.0]], np.float32)
Y = np.ones((2, 2), np.float32)
W, B = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.ones(2, np.float32)


@pytest.fixture(autouse=True)
def fresh_boost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(boost.AutoBoost, "_instance", None)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def each_mode(request: pytest.FixtureRequest):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(W), name="w")
        self.b = Parameter(Tensor(B), name="bias")

    def construct(self, x, y):
        return ((ops.matmul(x, self.w) + self.b - y) ** 2).mean()


def inputs() -> tuple[Tensor, Tensor]:
    return Tensor(X), Tensor(Y)


def losses(cell: nn.Cell, count: int) -> list[float]:
    return [float(cell(*inputs()).asnumpy()) for _ in range(count)]


def gradients(w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    away = (X @ w + b - Y) * 2 / Y.size
    return X.T @ away, away.sum(0)


def test_gradients_are_gathered_for_one_update_with_their_mean(each_mode: None):
    net = Net()
    gather = boost.GradientAccumulation(2, nn.SGD(net.trainable_params(), 0.1))
    seen = []
    for step in range(4):
        given = Tensor(np.eye(2, dtype=np.float32) * (step + 1)), Tensor(B)
        assert float(gather(Tensor(float(step)), given).asnumpy()) == step
        seen.append(net.w.asnumpy()[0, 0])
    np.testing.assert_allclose(seen, [1.0, 0.85, 0.85, 0.5], rtol=1e-6)
    np.testing.assert_allclose(net.b.asnumpy(), [0.8, 0.8], rtol=1e-6)
    left = {p.name: p.asnumpy() for p in gather.get_parameters()}
    assert left["accumulation_step"] == 0 and not left["grad_accumulation.w"].any()


def test_gathering_checks_its_arguments():
    optimizer = nn.SGD(Net().trainable_params(), 0.1)
    with pytest.raises(ValueError, match="max_accumulation_step"):
        boost.GradientAccumulation(0, optimizer)
    with pytest.raises(TypeError, match="optimizer"):
        boost.GradientAccumulation(2, None)


def test_a_plain_boosted_step_is_a_training_step(each_mode: None):
    net = Net()
    cell = boost.BoostTrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    np.testing.assert_allclose(losses(cell, 3), [41.0625, 20.338524, 2.4309387], rtol=1e-5)
    expected = [[-0.17899808, 0.2399649], [-0.5520351, -0.9353671]]
    np.testing.assert_allclose(net.w.asnumpy(), expected, rtol=1e-4)
    assert not cell.check_adasum_enable() and not cell.check_dim_reduce_enable()


def test_sens_scales_the_gradients_of_a_boosted_step():
    net = Net()
    boost.BoostTrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1), sens=4.0)(*inputs())
    np.testing.assert_allclose(net.w.asnumpy(), [[-0.15, 0.3], [-0.3, -0.6]], rtol=1e-5)


def test_a_boosted_step_gathers_gradients_when_the_configuration_says_so(each_mode: None):
    boost.AutoBoost(
        "O0",
        {
            "boost": {"mode": "manual", "grad_accumulation": True},
            "grad_accumulation": {"grad_accumulation_step": 2},
        },
    )
    net = Net()
    cell = boost.BoostTrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    assert losses(cell, 2) == [41.0625, 41.0625]
    first = W - 0.1 * gradients(W, B)[0]
    np.testing.assert_allclose(net.w.asnumpy(), first, rtol=1e-5)


def test_a_boosted_step_with_a_loss_scale(each_mode: None):
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    scale = nn.DynamicLossScaleUpdateCell(8.0, 2, 100)
    cell = boost.BoostTrainOneStepWithLossScaleCell(net, optimizer, scale)
    loss, overflow, used = cell(*inputs())
    assert float(loss.asnumpy()) == 41.0625 and not bool(overflow) and float(used.asnumpy()) == 8.0
    np.testing.assert_allclose(net.w.asnumpy(), W - 0.1 * gradients(W, B)[0], rtol=1e-5)
    before = net.w.asnumpy().copy()
    _, overflow, _ = cell(Tensor(X * np.float32(np.inf)), Tensor(Y))
    assert bool(overflow)
    np.testing.assert_array_equal(net.w.asnumpy(), before)
    assert float(cell.scale_sense.asnumpy()) == 4.0


def test_frozen_steps_follow_the_strategy(each_mode: None):
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    frozen = boost.FreezeOpt(optimizer, [[net.w, net.b], [net.b]], [0, 1, 0, 1])
    cell = boost.BoostTrainOneStepCell(net, frozen)
    np.testing.assert_allclose(losses(cell, 3), [41.0625, 20.338524, 19.669542], rtol=1e-5)
    np.testing.assert_allclose(net.b.asnumpy(), [0.30709368, -0.09368753], rtol=1e-4)
    expected = [[0.27344528, 0.92348444], [0.85354686, 1.0131562]]
    np.testing.assert_allclose(net.w.asnumpy(), expected, rtol=1e-4)
    assert "boost_1moments.bias" in [p.name for p in frozen.opts[1].get_parameters()]


def test_without_a_strategy_the_groups_take_turns():
    net = Net()
    frozen = boost.FreezeOpt(nn.SGD(net.trainable_params(), 0.1), [[net.w, net.b], [net.b]])
    cell = boost.BoostTrainOneStepCell(net, frozen)
    weights = []
    for _ in range(3):
        cell(*inputs())
        weights.append(net.w.asnumpy().copy())
    np.testing.assert_array_equal(weights[0], weights[1])
    assert (weights[1] != weights[2]).all()


def test_a_list_of_rates_is_dealt_to_the_groups_by_step():
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3])
    frozen = boost.FreezeOpt(optimizer, [[net.w, net.b], [net.b]], [0, 1, 0])
    rates = [frozen.opts[n].learning_rate.learning_rate.asnumpy() for n in range(2)]
    np.testing.assert_allclose(rates[0], [0.1, 0.3], rtol=1e-6)
    np.testing.assert_allclose(rates[1], [0.2], rtol=1e-6)


def test_lists_of_rates_in_groups_are_dealt_too():
    net = Net()
    groups = [{"params": [net.w], "lr": [0.3, 0.4, 0.5]}, {"params": [net.b]}]
    frozen = boost.FreezeOpt(nn.SGD(groups, [0.1, 0.2, 0.3]), [[net.w, net.b], [net.b]], [0, 1, 0])
    dealt = [[rate.learning_rate.asnumpy() for rate in o.learning_rate] for o in frozen.opts]
    np.testing.assert_allclose(dealt[0], [[0.3, 0.5], [0.1, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(dealt[1], [[0.2]], rtol=1e-6)


def test_a_list_of_rates_that_outlasts_the_strategy_stays_whole():
    net = Net()
    frozen = boost.FreezeOpt(nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3]), [[net.w]] * 2, [0, 1])
    for optimizer in frozen.opts:
        rates = optimizer.learning_rate.learning_rate.asnumpy()
        np.testing.assert_allclose(rates, [0.1, 0.2, 0.3], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (lambda o, w: (None,), TypeError, "must be an Optimizer"),
        (lambda o, w: (o, None, [0]), ValueError, "needs 'train_parameter_groups'"),
        (lambda o, w: (o, 3, [0]), TypeError, "groups' must be a tuple or list"),
        (lambda o, w: (o, [3], [0]), TypeError, "a group of parameters"),
        (lambda o, w: (o, [[w]], ["a"]), ValueError, "an int for each step"),
        (lambda o, w: (o, [[w]], 3), TypeError, "must be a tuple, list, or Tensor"),
        (lambda o, w: (o, [[w]], Tensor([[0]])), ValueError, "int32 for each step"),
        (lambda o, w: (o, [[w]], [0, 1]), ValueError, "indices of groups"),
        (lambda o, w: (o, [[w]], []), ValueError, "indices of groups"),
    ],
)
def test_freezing_checks_its_arguments(arguments, kind, message):
    net = Net()
    with pytest.raises(kind, match=message):
        boost.FreezeOpt(*arguments(nn.SGD(net.trainable_params(), 0.1), net.w))


def test_freeze_cell_uses_the_given_gradient():
    net = Net()
    frozen = boost.FreezeOpt(nn.SGD(net.trainable_params(), 0.1))
    grad = ops.GradOperation(get_by_list=True, sens_param=True)
    (step,) = boost.freeze_cell(False, net, frozen, 2.0, grad, False)
    assert float(step(*inputs()).asnumpy()) == 41.0625
    np.testing.assert_allclose(net.w.asnumpy(), W - 0.2 * gradients(W, B)[0], rtol=1e-5)
    unscaled, before = ops.GradOperation(get_by_list=True), (net.w.asnumpy(), net.b.asnumpy())
    (step,) = boost.freeze_cell(False, net, frozen, None, unscaled, False)
    step(*inputs())
    np.testing.assert_allclose(net.w.asnumpy(), before[0] - 0.1 * gradients(*before)[0], rtol=1e-5)
    (gathering,) = boost.freeze_cell(False, net, frozen, 1.0, grad, True, max_accumulation_step=2)
    before = net.w.asnumpy().copy()
    gathering(*inputs())
    np.testing.assert_array_equal(net.w.asnumpy(), before)
    gathering(*inputs())
    assert (net.w.asnumpy() != before).any()


def test_plans_of_frozen_steps():
    plan = boost.GradientFreeze(3, 1, 0.7, 20).generate_freeze_index_sequence
    assert plan(3, 0, 0.5, 10) == [0, 0, 1, 2] * 3
    assert plan(1, 0, 0.5, 10) == [0] * 10
    assert plan(4, 0, 0.7, 20) == [0, 0, 0, 0, 0, 0, 1, 2, 3] * 3
    np.random.seed(0)
    between = np.array(plan(4, 1, 0.7, 1000))
    assert len(between) == 1010 and set(between) == {0, 1, 2, 3}
    assert abs((between == 0).mean() - 0.7) < 0.01
    counts = [(between == n).sum() for n in (1, 2, 3)]
    assert counts[0] > counts[1] > counts[2]
    with pytest.raises(ValueError, match="unknown freezing strategy"):
        plan(4, 3, 0.7, 30)
    with pytest.raises(ValueError, match="freeze_p"):
        plan(4, 0, 1.0, 30)


@pytest.mark.parametrize(
    ("share", "trained"),
    [
        (0.1, "01111111110111111111"),
        (0.3, "01110110110111011011"),
        (0.5, "01010101010101010101"),
        (0.66, "01010010010010010010"),
        (0.7, "01001001001000100100"),
        (1.0, "00000000000000000000"),
    ],
)
def test_drawn_groups_are_spread_over_the_steps(share, trained):
    turns = boost.GradientFreeze(3, 1, 0.7, 20).generate_freeze_index_sequence(3, 1, share, 20)
    assert "".join("01"[turn > 0] for turn in turns) == trained


class Images(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 3, 3)
        self.bn1 = nn.BatchNorm2d(3)
        self.conv2 = nn.Conv2d(3, 3, 3, group=3)
        self.bn2 = nn.BatchNorm2d(3)
        self.end = nn.SequentialCell(nn.Flatten(), nn.Dense(48, 5), nn.Dense(5, 2))

    def construct(self, x):
        return self.end(self.bn2(self.conv2(self.bn1(self.conv1(x)))))


def test_groups_of_frozen_parameters_end_with_the_network():
    net = Images()
    freeze = boost.GradientFreeze(3, 1, 0.7, 20)
    groups = [[p.name for p in group] for group in freeze.split_parameters_groups(net, 3)]
    everything = [p.name for p in net.trainable_params()]
    assert groups[0] == everything
    assert groups[1] == everything[everything.index("conv2.weight") :]
    assert groups[2] == everything[everything.index("end.1.weight") :]
    same, optimizer = freeze.freeze_generate(net, nn.Adam(net.trainable_params(), 0.01))
    assert same is net and optimizer.train_strategy.shape == (20,)
    assert [[p.name for p in opt.parameters] for opt in optimizer.opts] == groups


@pytest.mark.parametrize(
    ("layers", "count", "lengths"),
    [(3, 2, [6, 2]), (7, 4, [14, 10, 6, 2]), (7, 5, [14] * 5), (10, 2, [20, 12]), (1, 2, [2, 2])],
)
def test_groups_start_at_layers_or_are_the_whole_network(layers, count, lengths):
    net = nn.SequentialCell(*(nn.Dense(3, 3) for _ in range(layers)))
    groups = boost.GradientFreeze(3, 1, 0.7, 20).split_parameters_groups(net, count)
    assert [len(group) for group in groups] == lengths


def test_the_head_of_less_bn_gives_cosines(each_mode: None):
    net = Images()
    weight = net.end[2].weight.asnumpy()
    less = boost.LessBN(net, fn_flag=True)
    head = net.end[2]
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    cosines = (x / np.linalg.norm(x, axis=1)[:, None]) @ (
        weight / np.linalg.norm(weight, axis=1)[:, None]
    ).T
    np.testing.assert_allclose(head(Tensor(x)).asnumpy(), cosines, rtol=1e-4, atol=1e-6)
    names = [p.name for p in less.trainable_params()]
    assert names[-2:] == ["network.end.2.weight", "network.end.2.multiplier"]
    flat = np.random.default_rng(1).standard_normal((2, 48)).astype(np.float32)
    assert np.abs(less.network.end(Tensor(flat)).asnumpy()).max() <= 1.0


def test_less_bn_without_the_flag_changes_no_number():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
    x = Tensor(np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32))
    before = net(x).asnumpy()
    np.testing.assert_array_equal(boost.LessBN(net)(x).asnumpy(), before)


def test_less_bn_leaves_networks_without_a_place_for_a_head():
    layer = nn.Dense(3, 2)
    assert boost.LessBN(layer, fn_flag=True).network is layer and layer.has_bias
    with pytest.raises(TypeError, match="network"):
        boost.LessBN(3)


def test_parameters_are_numbered_in_parts():
    params = [Parameter(Tensor([1.0]), name=f"p{n}") for n in range(5)]
    process = boost.ParameterProcess()
    parts = [p.comm_fusion for p in process.assign_parameter_group(params)]
    assert parts == [1, 1, 2, 2, 2]
    parts = [p.comm_fusion for p in process.assign_parameter_group(params, [1, 3])]
    assert parts == [2, 3, 3, 4, 4]
    assert process.assign_parameter_group([]) == [] and process.assign_parameter_group(None) is None


def test_parameters_find_the_groups_of_their_names():
    params = [Parameter(Tensor([1.0]), name=f"p{n}") for n in range(5)]
    group = boost.ParameterProcess.generate_group_params
    assert group(params[:2], params) == [{"params": params[:2]}]
    origin = [{"params": params[:2], "lr": 0.1}, {"params": params[2:3]}, {"order_params": params}]
    assert group(params, origin) == [
        {"params": params[:2], "lr": 0.1},
        {"params": params[2:3]},
        {"order_params": params},
        {"params": params[3:], "lr": 0.1},
    ]
    with pytest.raises(ValueError, match="origin_params is empty"):
        group(params, [])
    with pytest.raises(TypeError, match="Parameters, or dicts"):
        group(params, [1])


OPTIMIZERS = {
    "SGD": lambda params: nn.SGD(params, 0.1, momentum=0.5, dampening=0.1, weight_decay=0.1),
    "Momentum": lambda params: nn.Momentum(params, 0.1, 0.9, 0.1, 4.0, use_nesterov=True),
    "Adam": lambda params: nn.Adam(params, 0.1, 0.8, 0.9, use_amsgrad=True),
    "AdamWeightDecay": lambda params: nn.AdamWeightDecay(params, 0.1, weight_decay=0.1),
    "LazyAdam": lambda params: nn.LazyAdam(params, 0.1, use_nesterov=True),
    "AdaMax": lambda params: nn.AdaMax(params, 0.1, 0.8),
    "Adagrad": lambda params: nn.Adagrad(params, 0.3, 0.1),
    "Adadelta": lambda params: nn.Adadelta(params, 0.1, 0.8),
    "FTRL": lambda params: nn.FTRL(params, 0.4, 0.1, l1=0.01, weight_decay=0.1),
    "Lamb": lambda params: nn.Lamb(params, 0.1, weight_decay=0.1),
    "ProximalAdagrad": lambda params: nn.ProximalAdagrad(params, 0.2, 0.1, 0.01, 0.02),
    "RMSProp": lambda params: nn.RMSProp(params, 0.1, momentum=0.3, centered=True),
    "LARS": lambda params: nn.LARS(nn.SGD(params, 0.1, weight_decay=0.1), 1e-4, 0.01),
    "LARS of groups": lambda params: nn.LARS(
        nn.SGD([{"params": params[:1], "weight_decay": 0.3}, {"params": params[1:]}], 0.1)
    ),
    "groups": lambda params: nn.Momentum(
        [{"params": params[:1], "lr": 0.3, "weight_decay": 0.2}, {"params": params[1:]}], 0.1, 0.9
    ),
    "list": lambda params: nn.SGD(params, [0.1, 0.2, 0.3]),
    "schedule": lambda params: nn.SGD(params, nn.ExponentialDecayLR(0.1, 0.5, 1)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_made_again_takes_the_same_steps(name: str):
    first, second = Net(), Net()
    OPTIMIZERS[name](second.trainable_params())
    optimizer = OPTIMIZERS[name](first.trainable_params())
    process = boost.OptimizerProcess(OPTIMIZERS[name](second.trainable_params()))
    again = process.generate_new_optimizer()
    assert type(again) is type(optimizer) and process.is_lars == name.startswith("LARS")
    for _ in range(3):
        given = Tensor(W / 10), Tensor(B / 5)
        optimizer(given)
        again(given)
    np.testing.assert_allclose(second.w.asnumpy(), first.w.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(second.b.asnumpy(), first.b.asnumpy(), rtol=1e-6)
    assert (first.w.asnumpy() != W).all()


def test_a_trained_optimizer_no_longer_knows_where_its_states_began():
    net = Net()
    optimizer = nn.Adagrad(net.trainable_params(), 0.3, 0.1)
    optimizer((Tensor(W), Tensor(B)))
    with pytest.raises(RuntimeError, match="'accum' is unknown"):
        boost.OptimizerProcess(optimizer).generate_new_optimizer()


def test_centered_gradients_are_added_to_groups():
    net = Images()
    params = net.trainable_params()
    process = boost.OptimizerProcess(nn.SGD([{"params": params}], 0.1))
    process.add_grad_centralization(net)
    centered, others, order = process.origin_params
    assert centered["grad_centralization"]
    names = [p.name for p in centered["params"]]
    assert names == ["conv1.weight", "end.1.weight", "end.2.weight"]
    assert "conv2.weight" in [p.name for p in others["params"]] and "order_params" in order
    assert process.generate_new_optimizer().grad_centralization
    owners = boost.OptimizerProcess.build_params_dict(net)
    assert owners[id(net.conv1.weight)] is net.conv1
    with pytest.raises(KeyError, match="the network has no parameter"):
        boost.OptimizerProcess(nn.SGD([{"params": params}], 0.1)).add_grad_centralization(Net())
    plain = boost.OptimizerProcess(nn.SGD(params, 0.1))
    plain.add_grad_centralization(net)
    assert plain.origin_params == params


NOTHING = dict.fromkeys(
    ("less_bn", "grad_freeze", "adasum", "grad_accumulation", "dim_reduce", "loss_scale_group"),
    False,
)


@pytest.mark.parametrize(
    ("level", "config", "chosen"),
    [
        ("O0", "", {}),
        ("O9", "", {}),
        ("O1", "", {"less_bn": True, "grad_freeze": True}),
        ("O2", {}, {"less_bn": True, "grad_freeze": True, "adasum": True}),
        ("O1", {"boost": {"mode": "manual", "less_bn": False}}, {"grad_freeze": True}),
        ("O0", {"boost": {"mode": "enable_all"}}, dict.fromkeys(NOTHING, True)),
        ("O2", {"boost": {"mode": "disable_all"}}, {}),
    ],
)
def test_levels_and_modes_choose_ways(level, config, chosen):
    made = boost.AutoBoost(level, config)
    assert made.boost_config == NOTHING | chosen
    assert boost.AutoBoost("O2") is made and made.boost_config == NOTHING | chosen


def test_auto_boost_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="unknown mode"):
        boost.AutoBoost("O1", {"boost": {"mode": "x"}})
    with pytest.raises(TypeError, match="boost_config_dict"):
        boost.AutoBoost("O1", [1])
    with pytest.raises(ValueError, match="where parts begin"):
        boost.AutoBoost("O1", {"common": {"gradient_split_groups": "x"}})
    boosted = boost.AutoBoost("O0", {"boost": {"mode": "manual", "dim_reduce": True}})
    with pytest.raises(NotImplementedError, match="dim_reduce"):
        boosted.network_auto_process_train(Net(), None)


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(6, 5), nn.Dense(5, 5)
        self.third, self.last = nn.Dense(5, 5), nn.Dense(5, 2)

    def construct(self, x):
        return self.last(ops.tanh(self.third(ops.tanh(self.second(ops.tanh(self.first(x)))))))


def test_auto_boost_trains_a_network():
    config = {"grad_freeze": {"param_groups": 2, "freeze_p": 0.5, "total_steps": 10}}
    boosted = boost.AutoBoost("O1", config)
    backbone = Layers()
    network = nn.WithLossCell(backbone, nn.MSELoss())
    optimizer = nn.Momentum([{"params": backbone.trainable_params()}], 0.1, 0.9)
    network, optimizer = boosted.network_auto_process_train(network, optimizer)
    assert isinstance(network, boost.LessBN) and isinstance(optimizer, boost.FreezeOpt)
    assert optimizer.opts[0].grad_centralization
    step = boost.BoostTrainOneStepCell(network, optimizer)
    x = Tensor(np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32))
    y = Tensor(np.array([[0.5, -0.5]] * 4, np.float32))
    found = [float(step(x, y).asnumpy()) for _ in range(10)]
    assert found[-1] < 0.5 * found[0]
    assert isinstance(boosted.network_auto_process_eval(Layers()), boost.LessBN)


def test_auto_boost_warns_about_settings_it_does_not_know(caplog: pytest.LogCaptureFixture):
    boost.AutoBoost("O0", {"less_bn": {"fn_flog": True}, "more_bn": {}})
    assert "'fn_flog'" in caplog.text and "'more_bn'" in caplog.text


def test_auto_boost_numbers_the_parts_it_was_told():
    config = {
        "boost": {"mode": "manual", "grad_freeze": False},
        "common": {"gradient_split_groups": [2, 5]},
    }
    backbone = Layers()
    optimizer = nn.Momentum(backbone.trainable_params(), 0.1, 0.9)
    network, _ = boost.AutoBoost("O1", config).network_auto_process_train(backbone, optimizer)
    assert [p.comm_fusion for p in network.trainable_params()] == [1, 1, 2, 2, 2, 3, 3, 3]
