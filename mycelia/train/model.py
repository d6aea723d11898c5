"""Model: train, evaluate, and predict with one object."""

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
    """A network with its loss, optimizer, and metrics, ready to train, evaluate, and predict.

    Without `optimizer`, the network itself must run the training step; without `loss_fn`, it must
    return the loss. `eval_network` returns the inputs of the metrics, by default (loss, output,
    label); `eval_indexes` are the indices of these three in its result. `amp_level` selects mixed
    precision, and `loss_scale_manager` the loss scaling for it.
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
        self._predict_network, self._auto_parallel = network, None
        if isinstance(network, AutoParallel):
            self._auto_parallel, network = network, network.network
            _check_kind("the network in AutoParallel", network, Cell)
        self._metrics = get_metrics(metrics)
        self._network, self._optimizer = self._boosted(network, optimizer, boost_level, kwargs)
        self._loss_fn = loss_fn
        self._amp_level = amp_level
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        self._train_network = self._parallelized(self._make_train_network(boost_level, kwargs))
        self._eval_indexes = eval_indexes
        self._eval_network = (
            self._parallelized(self._make_eval_network(eval_network)) if self._metrics else None
        )

    @property
    def train_network(self) -> Cell:
        """The cell that runs training steps."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """The cell that computes the inputs of the metrics, or None without metrics."""
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

        In graph mode, `dataset_sink_mode` runs several steps as one program, unless a callback
        inspects the network between them. The results are the same. `resume_from` is a checkpoint
        of an earlier training run, or the folder of its checkpoints: training resumes from the
        newest one, also in the middle of an epoch, exactly as if it had not stopped. If the folder
        is empty, training starts from scratch.
        """
        with CallbackList(callbacks) as callback_list:
            facts = self._facts(
                "train", epoch, train_dataset, callback_list, dataset_sink_mode, sink_size
            )
            first = _first_epoch("train", epoch, initial_epoch)
            self._train(facts, callback_list, first, None, resume_from)

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
        """Train, and evaluate every `valid_frequency` epochs, or after the epochs that it lists."""
        if valid_dataset is not None:
            self._check_metrics("fit")
            size_of(valid_dataset)
        check_bool("Model.fit", "valid_dataset_sink_mode", valid_dataset_sink_mode)
        _check_frequency(valid_frequency)
        _check_event_names(as_list(callbacks))
        with CallbackList(callbacks) as callback_list:
            facts = self._facts(
                "fit", epoch, train_dataset, callback_list, dataset_sink_mode, sink_size
            )
            first = _first_epoch("fit", epoch, initial_epoch)
            due = None if valid_dataset is None else (valid_dataset, valid_frequency)
            self._train(facts, callback_list, first, due, resume_from)

    @entry_point
    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """Evaluate the model on a dataset; returns the values of the metrics by name."""
        self._check_metrics("eval")
        check_bool("Model.eval", "dataset_sink_mode", dataset_sink_mode)
        with CallbackList(callbacks) as callback_list:
            facts = CallbackParameters(
                list_callback=callback_list.callbacks,
                network=self._network,
                dataset_sink_mode=dataset_sink_mode,
            )
            return self._evaluation().run(valid_dataset, callback_list, facts)

    @entry_point
    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """The output of the network for these inputs, in inference mode."""
        if backend is not None:
            raise problem(
                ValueError,
                "Model.predict: backends cannot be selected",
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
        """Compile the training and evaluation programs for the first batch of each dataset."""
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
        self,
        name: str,
        epoch: int,
        dataset: Any,
        callback_list: CallbackList,
        sinks: bool,
        sink_size: int,
    ) -> CallbackParameters:
        """The parameters that callbacks of a new training run receive."""
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
            list_callback=callback_list.callbacks,
            train_dataset_element=None,
            network=self._network,
            last_save_ckpt_step=None,
            latest_ckpt_file=None,
            loss_scale_mananger=self._loss_scale_manager,  # MindSpore's spelling
            initial_step=None,
            dataset_sink_mode=sinks,
        )

    def _train(
        self,
        facts: CallbackParameters,
        callback_list: CallbackList,
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
        saved = saved_run(resume_from, callback_list.callbacks, facts)
        if saved is not None:
            first = saved.state.initial_epoch
        training = TrainingLoop(
            facts, callback_list, first, self._check, self._check_first, end_epoch
        )
        training.run(None if saved is None else (saved.state, saved.parameters))

    def _evaluation(self) -> EvaluationLoop:
        assert self._eval_network is not None
        has_loss = self._loss_fn is not None
        return EvaluationLoop(self._eval_network, self._metrics, self._eval_indexes, has_loss)

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
        """The network and optimizer with a boost level applied; only if there are metrics.

        Without metrics, a level changes the training steps alone.
        """
        if level == "O0" or optimizer is None:
            return network, optimizer
        boost = AutoBoost(level, options.get("boost_config_dict", ""))
        if not self._metrics:
            return network, optimizer
        return boost.network_auto_process_train(network, optimizer)

    def _parallelized(self, network: Cell) -> Cell:
        """The network on several devices, if the user passed an AutoParallel cell."""
        return network if self._auto_parallel is None else self._auto_parallel.around(network)

    def _make_train_network(self, boost_level: str, options: dict[str, Any]) -> Cell:
        if self._optimizer is not None:
            names = ("loss_scale_manager", "keep_batchnorm_fp32")
            amp_options = {name: options[name] for name in names if name in options}
            return build_train_network(
                self._network,
                self._optimizer,
                self._loss_fn,
                self._amp_level,
                boost_level,
                **amp_options,
            )
        if self._loss_fn is not None:
            return WithLossCell(self._network, self._loss_fn)
        return self._network

    def _make_eval_network(self, eval_network: Cell | None) -> Cell:
        indices = self._eval_indexes
        if eval_network is not None:
            if indices is not None and (not isinstance(indices, list) or len(indices) != 3):
                raise problem(
                    ValueError,
                    "Model: eval_indexes must list three indices",
                    got=repr(indices),
                    expected="a list with the indices of loss, output, and label, or None",
                )
            return eval_network
        if self._loss_fn is None:
            raise problem(
                ValueError,
                "Model: metrics need the results of an eval_network or a loss_fn",
                fix="pass an eval_network or a loss_fn, or leave the metrics out",
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
                    f"Model: unknown option {name!r}",
                    expected=f"one of {', '.join(_OPTIONS)}",
                    fix=did_you_mean(name, (*_ARGUMENTS, *_OPTIONS)),
                )
        check_levels(amp_level, boost_level)
        if optimizer is None and amp_level != "O0":
            raise problem(
                ValueError,
                "Model: mixed precision needs an optimizer",
                got=f"amp_level={amp_level!r}, no optimizer",
                fix="set amp_level='O0', or pass an optimizer",
            )

    def _check_metrics(self, name: str) -> None:
        if not self._metrics:
            raise problem(
                ValueError,
                f"Model.{name}: the model has no metrics to evaluate",
                fix='pass metrics to the model: Model(..., metrics={"accuracy"})',
            )


def _first_epoch(name: str, epoch: int, initial_epoch: Any) -> int:
    check_non_negative_int(f"Model.{name}", "initial_epoch", initial_epoch)
    if initial_epoch >= epoch:
        raise problem(
            ValueError,
            f"Model.{name}: initial_epoch leaves no epoch to train",
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
            "Model.fit: valid_frequency has a wrong type",
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
            f"Model: '{name}' must be a {kinds[0].__name__}",
            got=repr(value),
        )


def _check_event_names(callbacks: list[Callback]) -> None:
    """In `fit`, custom callbacks must use event names that say training or evaluation."""
    for callback in callbacks:
        kind = type(callback)
        events = [event for event in PLAIN_EVENTS if event in vars(kind)]
        if events and not kind.__module__.startswith("mycelia.train.callback"):
            raise problem(
                ValueError,
                f"Model.fit: {kind.__name__} must say whether it means training or evaluation",
                got=", ".join(events),
                fix=f"rename to on_train_{events[0]} or on_eval_{events[0]}",
            )


def _check_data(data: Any) -> None:
    items = data.values() if isinstance(data, dict) else data
    items = items if isinstance(data, (tuple, list, dict)) else [data]
    if not all(isinstance(item, _DATA) for item in items):
        raise problem(
            TypeError,
            "Model.predict: unsupported type of input",
            got=type(data).__name__,
            expected="a Tensor, None, int, float or str, or a tuple, list or dict of these",
            fix="wrap arrays: Tensor(array)",
        )
