"""Wrappers that add a loss, gradients, or a training step to a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.parallel.pipeline.step_tracing import is_pipelined
from mycelia.nn.atomic_step import AtomicStep
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Identity
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.indexing.assign import assign
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.grad import GradOperation, value_and_grad


class WithLossCell(Cell):
    """A network with its loss: `loss_fn(backbone(data), label)`."""

    def __init__(self, backbone: Any, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return call_user_function(self._loss_fn, self._backbone(data), label)

    @property
    def backbone_network(self) -> Any:
        """The network without the loss."""
        return self._backbone


class WithEvalCell(Cell):
    """A network for evaluation, which returns `(loss, outputs, label)`."""

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = check_bool("WithEvalCell", "add_cast_fp32", add_cast_fp32)

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            label = _cast_floats(label)
            outputs = cast(outputs, float32)
        return call_user_function(self._loss_fn, outputs, label), outputs, label


class WithGradCell(Cell):
    """Computes the gradients of a network's loss with respect to its trainable parameters."""

    def __init__(self, network: Any, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss_fn = loss_fn
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.sens = sens
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> tuple[Any, ...]:
        _, gradients = scaled_gradients(self.network_with_loss, self.weights, self.sens, inputs)
        return gradients


class ForwardValueAndGrad(Cell):
    """Computes `(value, gradients)` of a network or function.

    The gradients are those of the first input; with `get_all`, of all inputs; with `get_by_list`,
    of `weights`. With `sens_param`, the last argument of a call is the gradient of the output.
    """

    def __init__(
        self,
        network: Callable[..., Any],
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise wrong_type("ForwardValueAndGrad", "network", network, "a Cell or a function")
        self.get_all = check_bool("ForwardValueAndGrad", "get_all", get_all)
        self.get_by_list = check_bool("ForwardValueAndGrad", "get_by_list", get_by_list)
        self.sens_param = check_bool("ForwardValueAndGrad", "sens_param", sens_param)
        if get_by_list and not isinstance(weights, (tuple, list, ParameterTuple)):
            raise wrong_type("ForwardValueAndGrad", "weights", weights, "a list of Parameters")
        self.network = network
        self.weights = weights

    def construct(self, *inputs: Any) -> tuple[Any, Any]:
        sens = None
        if self.sens_param:
            inputs, sens = inputs[:-1], inputs[-1]
        positions: Any = 0
        if self.get_all:
            positions = tuple(range(len(inputs)))
        elif self.get_by_list:
            positions = None
        weights = self.weights if self.get_by_list else None
        if sens is None:
            return value_and_grad(self.network, positions, weights)(*inputs)
        scaled = _with_scaled_value(self.network, sens)
        (_, value), gradients = value_and_grad(scaled, positions, weights, has_aux=True)(*inputs)
        return value, gradients


class TrainOneStepCell(AtomicStep):
    """One training step: the loss of `network`, its gradients, and the optimizer's update.

    `sens` is the initial gradient of the loss in the backward pass (default 1). With
    `return_grad`, the result is `(loss, {parameter name: gradient})`.
    """

    def __init__(
        self, network: Any, optimizer: Any, sens: Any = None, return_grad: bool = False
    ) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = _weights_of(type(self).__name__, optimizer)
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.sens = 1.0 if sens is None else sens
        self.sense_flag = sens is not None
        self.return_grad = return_grad
        self.reducer_flag = False
        self.grad_reducer = Identity()

    def construct(self, *inputs: Any) -> Any:
        sens = self.sens if self.sense_flag else None
        loss, gradients = scaled_gradients(self.network, self.weights, sens, inputs)
        gradients = self.grad_reducer(gradients)
        self.optimizer(gradients)
        if not self.return_grad:
            return loss
        names = [weight.name for weight in self.weights]
        return loss, dict(zip(names, gradients, strict=True))


def _weights_of(owner: str, optimizer: Any) -> Any:
    """The parameters that an optimizer updates."""
    weights = getattr(optimizer, "parameters", None)
    if weights is None:
        raise problem(
            AttributeError,
            f"{owner}: the optimizer has no parameters",
            got=repr(optimizer),
            expected="an optimizer, such as nn.SGD(net.trainable_params(), learning_rate=0.1)",
        )
    return weights


class ParameterUpdate(Cell):
    """Sets a parameter to the tensor that the cell is called with."""

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise wrong_type("ParameterUpdate", "param", param, "Parameter")
        self._param = param

    def construct(self, x: Any) -> Any:
        assign(self._param, x)
        return x


def scaled_gradients(network: Any, weights: Any, sens: Any, inputs: Any) -> tuple[Any, Any]:
    """The value of `network(*inputs)`, and the gradients of `sens` times it for `weights`."""
    if sens is None:
        return value_and_grad(network, None, weights)(*inputs)
    if is_pipelined(network):
        return value_and_grad(network, None, weights, sens_param=True)(*inputs, sens)
    scaled = _with_scaled_value(network, sens)
    (_, value), gradients = value_and_grad(scaled, None, weights, has_aux=True)(*inputs)
    return value, gradients


def _with_scaled_value(network: Any, sens: Any) -> Callable[..., tuple[Any, Any]]:
    """`network` with two results: its output times `sens`, and its output."""

    def run(*inputs: Any) -> tuple[Any, Any]:
        value = call_user_function(network, *inputs)
        return _scale(value, sens), value

    return run


def _scale(value: Any, sens: Any) -> Any:
    if isinstance(value, (tuple, list)):
        factors = sens if isinstance(sens, (tuple, list)) else [sens] * len(value)
        return tuple(_scale(v, s) for v, s in zip(value, factors, strict=True))
    if not value.dtype.is_inexact:
        return value
    return mul(value, cast(sens, value.dtype))


def _cast_floats(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype.is_float:
        return cast(value, float32)
    return value
