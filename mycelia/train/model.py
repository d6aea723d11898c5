"""Model: training, evaluation and prediction with one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.core import settings
from mycelia.core.checks import check_bool, check_non_negative_int, check_positive_int
from mycelia.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.wrap.cell_wrapper import WithEvalCell, WithLossCell
from mycelia.tensor.tensor import Tensor
from mycelia.train.amp import build_train_network, check_levels
from mycelia.train.callback.callback import (
    PLAIN_EVENTS,
    Callback,
    CallbackList,
    CallbackParameters,
    RunContext,
    as_list,
)
from mycelia.train.callback.history import History
from mycelia.train.callback.learning_rate_scheduler import LearningRateScheduler
from mycelia.train.callback.loss_monitor import LossMonitor
from mycelia.train.callback.model_checkpoint import ModelCheckpoint
from mycelia.train.dataset_helper import DatasetHelper, check_sink_size, size_of
from mycelia.train.metrics import Loss, get_metrics
from mycelia.transforms.jit import compiled_of
from mycelia.transforms.sinking import run_steps

_OPTIONS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")
_FOR_TRAINING = (LossMonitor, History, ModelCheckpoint, LearningRateScheduler)
_MOST_JOINED = 16  # steps that run as one program
_STEP_EVENTS = ("step_begin", "step_end", "on_train_step_begin", "on_train_step_end")
_DATA = (Tensor, int, float, str, type(None))


class Model:
    """A network with its loss, optimizer and metrics, which can be trained and asked.

    Without `optimizer` the network makes training steps itself; without `loss_fn` it gives the
    loss itself. `eval_network` gives what the metrics are told, by default (loss, output, label);
    `eval_indexes` are the places of these three in what it gives. `amp_level` is the mixed
    precision, `loss_scale_manager` how the loss is scaled for it.
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Cell | None = None,
        optimizer: Any = None,
        metrics: Any = None,
        eval_network: Cell | None = None,
        eval_indexes: list[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: Any,
    ) -> None:
        _check_kind("network", network, Cell)
        _check_kind("loss_fn", loss_fn, (Cell, type(None)))
        _check_kind("optimizer", optimizer, (Optimizer, Cell, type(None)))
        _check_kind("eval_network", eval_network, (Cell, type(None)))
        self._check_options(kwargs, optimizer, amp_level, boost_level)
        self._network = network
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._amp_level = amp_level
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        self._train_network = self._make_train_network(boost_level, kwargs)
        self._metrics = get_metrics(metrics)
        self._eval_indexes = eval_indexes
        self._eval_network = self._make_eval_network(eval_network) if self._metrics else None
        self._predict_network = network

    @property
    def train_network(self) -> Cell:
        """The cell that makes training steps."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """The cell whose results the metrics are told, or None without metrics."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The cell that predicts."""
        return self._predict_network

    # ---- training ---------------------------------------------------------------------------

    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train for the epochs from `initial_epoch` to `epoch`.

        With `dataset_sink_mode` in graph mode several steps run as one program, unless a callback
        looks at the network between them. The results are the same.
        """
        with CallbackList(callbacks) as told:
            run = self._training("train", epoch, train_dataset, told, dataset_sink_mode, sink_size)
            self._run_epochs(run, told, _first_epoch("train", epoch, initial_epoch), None)

    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train, and evaluate every `valid_frequency` epochs, or after the epochs it lists."""
        if valid_dataset is not None:
            self._check_metrics("fit")
            size_of(valid_dataset)
        check_bool("Model.fit", "valid_dataset_sink_mode", valid_dataset_sink_mode)
        _check_frequency(valid_frequency)
        _check_event_names(as_list(callbacks))
        with CallbackList(callbacks) as told:
            run = self._training("fit", epoch, train_dataset, told, dataset_sink_mode, sink_size)
            due = None if valid_dataset is None else (valid_dataset, valid_frequency)
            self._run_epochs(run, told, _first_epoch("fit", epoch, initial_epoch), due)

    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """Evaluate: the values of the metrics by name."""
        self._check_metrics("eval")
        check_bool("Model.eval", "dataset_sink_mode", dataset_sink_mode)
        with CallbackList(callbacks) as told:
            facts = CallbackParameters(
                list_callback=told.callbacks,
                network=self._network,
                dataset_sink_mode=dataset_sink_mode,
            )
            return self._evaluate(valid_dataset, told, facts, in_fit=False)

    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """What the network gives for these inputs, in inference mode."""
        if backend is not None:
            raise problem(
                ValueError,
                "Model.predict: there is no backend to choose",
                got=f"backend={backend!r}",
                fix="leave it out: networks run on XLA",
            )
        for data in predict_data:
            _check_data(data)
        _set_training(self._predict_network, False)
        return self._predict_network(*predict_data)

    def build(
        self,
        train_dataset: Any = None,
        valid_dataset: Any = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Compile the training and evaluation programs for batches like the first ones."""
        check_positive_int("Model.build", "epoch", epoch)
        check_bool("Model.build", "sink_mode", sink_mode)
        check_sink_size("Model.build", sink_size)
        if train_dataset is not None:
            self._compile(self._train_network, train_dataset, is_training=True)
        if valid_dataset is not None:
            self._check_metrics("build")
            assert self._eval_network is not None
            self._compile(self._eval_network, valid_dataset, is_training=False)

    def _compile(self, network: Cell, dataset: Any, *, is_training: bool) -> None:
        _set_training(network, is_training)
        batch = next(iter(DatasetHelper(dataset, False)))
        compiled_of(network).entry(tuple(batch), {})

    # ---- the course of a training -----------------------------------------------------------

    def _training(
        self, name: str, epoch: int, dataset: Any, told: CallbackList, sinks: bool, sink_size: int
    ) -> CallbackParameters:
        """The facts of a training that is about to begin."""
        check_positive_int(f"Model.{name}", "epoch", epoch)
        check_bool(f"Model.{name}", "dataset_sink_mode", sinks)
        check_sink_size(f"Model.{name}", sink_size)
        size = size_of(dataset)
        return CallbackParameters(
            cur_step_num=0,
            train_network=self._train_network,
            epoch_num=epoch,
            batch_num=sink_size if sinks and sink_size > 0 else size,
            mode="train",
            loss_fn=self._loss_fn,
            optimizer=self._optimizer,
            parallel_mode="stand_alone",
            device_number=1,
            train_dataset=dataset,
            list_callback=told.callbacks,
            train_dataset_element=None,
            network=self._network,
            last_save_ckpt_step=None,
            latest_ckpt_file=None,
            loss_scale_mananger=self._loss_scale_manager,  # this is its name
            initial_step=None,
            dataset_sink_mode=sinks,
        )

    def _run_epochs(
        self,
        facts: CallbackParameters,
        told: CallbackList,
        first: int,
        valid: tuple[Any, Any] | None,
    ) -> None:
        helper = DatasetHelper(facts.train_dataset, False, -1, facts.epoch_num - first)
        joined = _steps_joined(facts, told.callbacks)
        context = RunContext(facts)
        told.tell("on_train_begin", context)
        for number in range(first + 1, facts.epoch_num + 1):
            facts.cur_epoch_num = number
            facts.pop("metrics", None)
            facts.pop("eval_results", None)
            _set_training(self._train_network, True)
            told.tell("on_train_epoch_begin", context)
            for inputs, outputs in self._steps(helper, joined, told, context):
                facts.train_dataset_element, facts.net_outputs = inputs, outputs
                told.tell("on_train_step_end", context)
                if context.get_stop_requested():
                    break
            if valid is not None and _is_due(number, valid[1]):
                self._evaluate_in_fit(valid[0], facts)
            told.tell("on_train_epoch_end", context)
            if context.get_stop_requested():
                break
        told.tell("on_train_end", context)

    def _steps(
        self, helper: DatasetHelper, joined: int, told: CallbackList, context: RunContext
    ) -> Iterator[tuple[list[Any], Any]]:
        """Make the steps of one epoch: the inputs and the outputs of each."""
        facts = context.original_args()
        for group in _groups(self._checked(helper), joined):
            results = None
            if len(group) > 1:
                compiled = compiled_of(self._train_network)
                results = run_steps(compiled, [tuple(inputs) for inputs in group])
            for place, inputs in enumerate(group):
                facts.cur_step_num += 1
                facts.train_dataset_element = inputs
                told.tell("on_train_step_begin", context)
                yield inputs, self._train_network(*inputs) if results is None else results[place]

    def _checked(self, batches: Any) -> Iterator[list[Any]]:
        for inputs in batches:
            if self._loss_fn is not None and len(inputs) != 2:
                raise problem(
                    ValueError,
                    "Model: with a loss_fn, a batch is data and labels",
                    got=f"a batch of {len(inputs)} columns",
                    expected="2 columns",
                    fix="project the dataset to two columns, or put the loss into the network",
                )
            yield inputs

    # ---- the course of an evaluation --------------------------------------------------------

    def _evaluate_in_fit(self, dataset: Any, facts: CallbackParameters) -> None:
        """Evaluate between epochs; what the facts say of the training stays."""
        kept = {name: facts[name] for name in ("cur_step_num", "batch_num", "net_outputs", "mode")}
        told = CallbackList([c for c in facts.list_callback if type(c) not in _FOR_TRAINING])
        self._evaluate(dataset, told, facts, in_fit=True)
        facts.update(kept)

    def _evaluate(
        self, dataset: Any, told: CallbackList, facts: CallbackParameters, *, in_fit: bool
    ) -> dict[str, Any]:
        network = self._eval_network
        assert network is not None
        facts.update(
            eval_network=network,
            valid_dataset=dataset,
            batch_num=size_of(dataset),
            mode="eval",
            cur_step_num=0,
        )
        _set_training(network, False)
        for metric in self._metrics.values():
            metric.clear()
        context = RunContext(facts)
        told.tell("on_eval_begin", context)
        told.tell("on_eval_epoch_begin", context)
        for inputs in DatasetHelper(dataset, False):
            facts.cur_step_num += 1
            facts.eval_dataset_element = inputs
            told.tell("on_eval_step_begin", context)
            facts.net_outputs = network(*inputs)
            told.tell("on_eval_step_end", context)
            self._update_metrics(facts.net_outputs)
            if context.get_stop_requested():
                break
        told.tell("on_eval_epoch_end", context)
        facts.metrics = {name: metric.eval() for name, metric in self._metrics.items()}
        if in_fit:
            facts.eval_results = facts.metrics | self._eval_loss(facts.net_outputs)
        told.tell("on_eval_end", context)
        return facts.metrics

    def _update_metrics(self, outputs: Any) -> None:
        given = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        places = self._eval_indexes
        if places is None:
            for metric in self._metrics.values():
                metric.update(*given)
            return
        if len(given) < 3:
            raise problem(
                ValueError,
                "Model: eval_indexes needs more outputs than the eval_network gives",
                got=str(len(given)),
                expected="3 or more: a loss, an output and a label among them",
            )
        loss, output, label = (given[place] for place in places)
        for metric in self._metrics.values():
            metric.update(*([loss] if isinstance(metric, Loss) else [output, label]))

    def _eval_loss(self, outputs: Any) -> dict[str, float]:
        """The loss of the last batch, for callbacks that watch it."""
        if self._loss_fn is None or self._eval_indexes is None:
            return {}
        loss = outputs[self._eval_indexes[0]]
        return {"eval_loss": float(np.mean(loss.asnumpy()))}

    # ---- making the networks ----------------------------------------------------------------

    def _make_train_network(self, boost_level: str, options: dict[str, Any]) -> Cell:
        if self._optimizer is not None:
            names = ("loss_scale_manager", "keep_batchnorm_fp32")
            given = {name: options[name] for name in names if name in options}
            return build_train_network(
                self._network, self._optimizer, self._loss_fn, self._amp_level, boost_level, **given
            )
        if self._loss_fn is not None:
            return WithLossCell(self._network, self._loss_fn)
        return self._network

    def _make_eval_network(self, eval_network: Cell | None) -> Cell:
        places = self._eval_indexes
        if eval_network is not None:
            if places is not None and (not isinstance(places, list) or len(places) != 3):
                raise problem(
                    ValueError,
                    "Model: eval_indexes does not name three places",
                    got=repr(places),
                    expected="a list with the places of loss, output and label, or None",
                )
            return eval_network
        if self._loss_fn is None:
            raise problem(
                ValueError,
                "Model: nothing says what the metrics are told",
                fix="give an eval_network or a loss_fn, or leave the metrics out",
            )
        self._eval_indexes = [0, 1, 2]
        return WithEvalCell(self._network, self._loss_fn, self._amp_level != "O0")

    # ---- checks -----------------------------------------------------------------------------

    def _check_options(
        self, options: dict[str, Any], optimizer: Any, amp_level: Any, boost_level: Any
    ) -> None:
        for name in options:
            if name not in _OPTIONS:
                raise problem(
                    ValueError,
                    f"Model: there is no option {name!r}",
                    expected=f"one of {', '.join(_OPTIONS)}",
                )
        check_levels(amp_level, boost_level)
        if optimizer is None and amp_level != "O0":
            raise problem(
                ValueError,
                "Model: mixed precision needs an optimizer",
                got=f"amp_level={amp_level!r}, no optimizer",
                fix="set amp_level='O0', or give an optimizer",
            )

    def _check_metrics(self, name: str) -> None:
        if not self._metrics:
            raise problem(
                ValueError,
                f"Model.{name}: there are no metrics to evaluate",
                fix='give some to the model: Model(..., metrics={"accuracy"})',
            )


def _steps_joined(facts: CallbackParameters, callbacks: list[Callback]) -> int:
    """How many steps run as one program: as many as divide an epoch, or one."""
    if not facts.dataset_sink_mode or settings.current().mode != settings.GRAPH_MODE:
        return 1
    for callback in callbacks:
        only_reads = vars(type(callback)).get("only_reads_results", False)
        if not only_reads and callback.hears(*_STEP_EVENTS):
            return 1
    return max(n for n in range(1, _MOST_JOINED + 1) if facts.batch_num % n == 0)


def _groups(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    group: list[Any] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _set_training(network: Cell, is_training: bool) -> None:
    """Switch a network between training and inference, unless all of it is there already."""
    if any(cell.training is not is_training for _, cell in network.cells_and_names()):
        network.set_train(is_training)


def _first_epoch(name: str, epoch: int, initial_epoch: Any) -> int:
    check_non_negative_int(f"Model.{name}", "initial_epoch", initial_epoch)
    if initial_epoch >= epoch:
        raise problem(
            ValueError,
            f"Model.{name}: no epoch is left after initial_epoch",
            got=f"initial_epoch={initial_epoch}, epoch={epoch}",
            expected="an epoch above initial_epoch",
        )
    return initial_epoch


def _is_due(epoch: int, frequency: int | list[int]) -> bool:
    return epoch in frequency if isinstance(frequency, list) else epoch % frequency == 0


def _check_frequency(frequency: Any) -> None:
    if isinstance(frequency, bool) or not isinstance(frequency, (int, list)):
        raise problem(
            TypeError,
            "Model.fit: valid_frequency does not say after which epochs",
            got=repr(frequency),
            expected="an int, or a list of epochs",
        )
    if frequency == 0:
        raise problem(ZeroDivisionError, "Model.fit: valid_frequency is 0", expected="1 or more")


def _check_kind(name: str, value: Any, kind: type | tuple[type, ...]) -> None:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise problem(
            TypeError,
            f"Model: '{name}' is no {kinds[0].__name__}",
            got=repr(value),
        )


def _check_event_names(callbacks: list[Callback]) -> None:
    """In `fit`, users' callbacks must say whether they mean training or evaluation."""
    for callback in callbacks:
        kind = type(callback)
        found = [event for event in PLAIN_EVENTS if event in vars(kind)]
        if found and not kind.__module__.startswith("mycelia.train.callback"):
            raise problem(
                ValueError,
                f"Model.fit: {kind.__name__} does not say if it means training or evaluation",
                got=", ".join(found),
                fix=f"name them on_train_{found[0]} or on_eval_{found[0]}",
            )


def _check_data(data: Any) -> None:
    parts = data.values() if isinstance(data, dict) else data
    parts = parts if isinstance(data, (tuple, list, dict)) else [data]
    if not all(isinstance(part, _DATA) for part in parts):
        raise problem(
            TypeError,
            "Model.predict: input data of an unknown kind",
            got=type(data).__name__,
            expected="a Tensor, None, int, float or str, or a tuple, list or dict of these",
            fix="wrap arrays: Tensor(array)",
        )
