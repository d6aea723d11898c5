"""Model: training, evaluation and prediction with one object."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_non_negative_int, check_positive_int
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import did_you_mean, problem
from mycelia.amp.levels import build_train_network, check_levels
from mycelia.boost.boost import AutoBoost
from mycelia.nn.cell import Cell
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.wrap.auto_parallel import AutoParallel
from mycelia.nn.wrap.cell_wrapper import WithEvalCell, WithLossCell
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import (
    PLAIN_EVENTS,
    Callback,
    CallbackList,
    CallbackParameters,
    as_list,
)
from mycelia.train.dataset_helper import DatasetHelper, check_sink_size, size_of
from mycelia.train.evaluation_loop import EvaluationLoop, set_training
from mycelia.train.metrics import get_metrics
from mycelia.train.preflight_checks import check_columns, check_labels, check_metrics
from mycelia.train.resume import saved_run
from mycelia.train.training_loop import TrainingLoop
from mycelia.transforms.jit import compiled_of

_ARGUMENTS = (
    "network", "loss_fn", "optimizer", "metrics", "eval_network", "eval_indexes", "amp_level",
    "boost_level",
)  # fmt: skip
_OPTIONS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")
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
        self._predict_network, self._spreading = network, None
        if isinstance(network, AutoParallel):
            self._spreading, network = network, network.network
            _check_kind("the network in AutoParallel", network, Cell)
        self._metrics = get_metrics(metrics)
        self._network, self._optimizer = self._boosted(network, optimizer, boost_level, kwargs)
        self._loss_fn = loss_fn
        self._amp_level = amp_level
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        self._train_network = self._spread(self._make_train_network(boost_level, kwargs))
        self._eval_indexes = eval_indexes
        self._eval_network = (
            self._spread(self._make_eval_network(eval_network)) if self._metrics else None
        )

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

    @entry_point
    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume_from: Any = None,
    ) -> None:
        """Train for the epochs from `initial_epoch` to `epoch`.

        With `dataset_sink_mode` in graph mode several steps run as one program, unless a callback
        looks at the network between them. The results are the same. `resume_from` is a checkpoint
        of this training, or the folder of its checkpoints: it goes on after the newest, in the
        middle of an epoch too, as if it had never stopped. An empty folder begins it.
        """
        with CallbackList(callbacks) as told:
            facts = self._facts("train", epoch, train_dataset, told, dataset_sink_mode, sink_size)
            first = _first_epoch("train", epoch, initial_epoch)
            self._train(facts, told, first, None, resume_from)

    @entry_point
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
        resume_from: Any = None,
    ) -> None:
        """Train, and evaluate every `valid_frequency` epochs, or after the epochs it lists."""
        if valid_dataset is not None:
            self._check_metrics("fit")
            size_of(valid_dataset)
        check_bool("Model.fit", "valid_dataset_sink_mode", valid_dataset_sink_mode)
        _check_frequency(valid_frequency)
        _check_event_names(as_list(callbacks))
        with CallbackList(callbacks) as told:
            facts = self._facts("fit", epoch, train_dataset, told, dataset_sink_mode, sink_size)
            first = _first_epoch("fit", epoch, initial_epoch)
            due = None if valid_dataset is None else (valid_dataset, valid_frequency)
            self._train(facts, told, first, due, resume_from)

    @entry_point
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
            return self._evaluation().run(valid_dataset, told, facts)

    @entry_point
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
        set_training(self._predict_network, False)
        return self._predict_network(*predict_data)

    @entry_point
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
        set_training(network, is_training)
        batch = next(iter(DatasetHelper(dataset, False)))
        compiled_of(network).entry(tuple(batch), {})

    def _facts(
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

    def _train(
        self,
        facts: CallbackParameters,
        told: CallbackList,
        first: int,
        valid: tuple[Any, Any] | None,
        resume_from: Any,
    ) -> None:
        def end_epoch(number: int) -> None:
            if valid is not None and _is_due(number, valid[1]):
                self._evaluation().run_in_fit(valid[0], facts)

        if valid is not None and any(
            _is_due(n + 1, valid[1]) for n in range(first, facts.epoch_num)
        ):
            check_metrics(self._evaluation(), valid[0])
        saved = saved_run(resume_from, told.callbacks, facts)
        if saved is not None:
            first = saved.state.initial_epoch
        training = TrainingLoop(facts, told, first, self._check, self._check_first, end_epoch)
        training.run(None if saved is None else (saved.state, saved.parameters))

    def _evaluation(self) -> EvaluationLoop:
        assert self._eval_network is not None
        tells_loss = self._loss_fn is not None
        return EvaluationLoop(self._eval_network, self._metrics, self._eval_indexes, tells_loss)

    def _check(self, inputs: list[Any]) -> None:
        if self._loss_fn is not None:
            check_columns(inputs)

    def _check_first(self, inputs: list[Any]) -> None:
        if self._loss_fn is not None:
            check_labels(self._network, self._loss_fn, inputs)

    # ---- making the networks ----------------------------------------------------------------

    def _boosted(
        self, network: Cell, optimizer: Any, level: str, options: dict[str, Any]
    ) -> tuple[Cell, Any]:
        """The network and optimizer in the ways of a boost level; these change with metrics only.

        Without metrics a level changes the training steps alone.
        """
        if level == "O0" or optimizer is None:
            return network, optimizer
        boost = AutoBoost(level, options.get("boost_config_dict", ""))
        if not self._metrics:
            return network, optimizer
        return boost.network_auto_process_train(network, optimizer)

    def _spread(self, network: Cell) -> Cell:
        """The network over several devices, if the one that was given is an AutoParallel cell."""
        return network if self._spreading is None else self._spreading.around(network)

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
                    fix=did_you_mean(name, (*_ARGUMENTS, *_OPTIONS)),
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
