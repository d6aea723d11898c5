"""The SummaryCollector callback: record summaries of training for TensorBoard."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mycelia import log
from mycelia._engine.core.checks import check_bool, check_positive_int, is_number
from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import LazyModule
from mycelia.insight.hyper_parameters import RunEnd, RunOutcome, RunStart, Value
from mycelia.insight.image import is_picture
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback, loss_of
from mycelia.train.callback.summary_facts import hyper_parameters_of, learning_rates_of
from mycelia.train.callback.summary_options import OWNER, check_lineage, checked_collected
from mycelia.train.summary.network_graph import network_graph
from mycelia.train.summary.options import checked_directory, checked_export
from mycelia.train.summary.summary_record import SummaryRecord

if TYPE_CHECKING:
    from mycelia import dataset as data_pipeline
else:
    data_pipeline = LazyModule("mycelia.dataset")

_DEFAULT_HISTOGRAMS = 5
_MOST_TENSORS = 20  # records of TensorSummary, unless collect_tensor_freq says otherwise


@dataclass(eq=False)
class _CollectedRun:
    """One run, and what has been recorded of it."""

    record: SummaryRecord
    hyper_parameters: dict[str, Value] | None = None
    judged: dict[str, None] = field(default_factory=dict)  # tags of quality metrics, in order
    rates: dict[str, float] = field(default_factory=dict)  # learning rates of the current step
    has_begun: bool = False
    was_warned: bool = False
    tensor_records: int = 0


class SummaryCollector(Callback):
    """Records a training run in `summary_dir`, for TensorBoard.

    At the first step and then every `collect_freq` steps it records, under tags that end in
    "/auto", the loss, the learning rate, the input if it consists of images, and histograms of
    parameters; also the data that summary operators in the network publish. Once, it records the
    graph of the network, the dataset pipeline as JSON, and the hyper-parameters of the run with
    those of `custom_lineage_data`; after evaluations the metrics, as scalars "eval/<name>".
    `collect_specified_data` turns items on or off by name: collect_metric, collect_graph,
    collect_train_lineage, collect_eval_lineage, collect_dataset_graph, collect_input_data; and
    histogram_regular, a pattern for the names of parameters with histograms, matched at the
    beginning (None: the first five). Other items are collected if `keep_default_action`.
    TensorSummary is recorded every `collect_tensor_freq` steps, by default at most 20 times. The
    other arguments are those of SummaryRecord. Hyper-parameters share the file with the values,
    since TensorBoard expects one file per run.
    """

    def __init__(
        self,
        summary_dir: str,
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True,
        custom_lineage_data: dict[str, Any] | None = None,
        collect_tensor_freq: int | None = None,
        max_file_size: int | None = None,
        export_options: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        directory = checked_directory(OWNER, "summary_dir", summary_dir)
        self._every = check_positive_int(OWNER, "collect_freq", collect_freq)
        check_positive_int(OWNER, "num_process", num_process)
        keeps_default = check_bool(OWNER, "keep_default_action", keep_default_action)
        self._collected = checked_collected(collect_specified_data, keeps_default)
        self._custom = check_lineage(custom_lineage_data)
        self._tensor_every = _optional_count("collect_tensor_freq", collect_tensor_freq)
        checked_export(OWNER, export_options)
        self._record_options: dict[str, Any] = {
            "log_dir": directory,
            "num_process": num_process,
            "max_file_size": _optional_count("max_file_size", max_file_size),
            "export_options": export_options,
        }
        self._step = 0  # of training; evaluations are reported at this step
        self._opened: _CollectedRun | None = None

    def __enter__(self) -> Self:
        self._opened = _CollectedRun(SummaryRecord(**self._record_options))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        run, self._opened = self._run, None
        if run.hyper_parameters is not None:
            outcome = RunOutcome.SUCCESS if kind is None else RunOutcome.FAILURE
            end = RunEnd(outcome, run.hyper_parameters, tuple(run.judged))
            run.record.add_value("train_lineage", "end", end)
            run.record.record(self._step, plugin_filter=lambda plugin: plugin == "train_lineage")
        run.record.close()

    def on_train_begin(self, run_context: Any) -> None:
        if self._collected.collect_train_lineage:
            values = hyper_parameters_of(run_context.original_args()) | self._custom
            self._run.hyper_parameters = values
            self._run.record.add_value("train_lineage", "start", RunStart(values))

    def on_train_step_begin(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if self._collected.collect_metric and self._is_due(facts.cur_step_num):
            self._run.rates = learning_rates_of(facts)

    def on_train_step_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        self._step = facts.cur_step_num
        run, is_due = self._run, self._is_due(self._step)
        is_first, run.has_begun = not run.has_begun, True
        if is_first:
            self._add_structure(facts)
        if is_due:
            self._add_values(facts)
        records_tensors = self._records_tensors(facts, is_first)
        if is_due or records_tensors:
            chosen = {"tensor": records_tensors}
            run.record.record(self._step, plugin_filter=lambda plugin: chosen.get(plugin, is_due))
            run.record.flush()  # so that viewers see it during the run

    def on_eval_begin(self, run_context: Any) -> None:
        self._run.record.set_mode("eval")

    def on_eval_end(self, run_context: Any) -> None:
        record = self._run.record
        record.record(self._step, plugin_filter=lambda plugin: False)  # discard values of training
        if self._collected.collect_eval_lineage:
            metrics = run_context.original_args().metrics
            record.add_value("eval_lineage", "eval_metrics", metrics)
            for name, value in metrics.items():
                if is_number(value):
                    self._add_judged(f"eval/{name}", value)
            record.record(self._step)
        record.set_mode("train")

    @property
    def _run(self) -> _CollectedRun:
        if self._opened is None:
            raise problem(
                RuntimeError,
                f"{OWNER}: an event arrived, but the summary file is not open",
                fix="pass it to a Model, or enter it: with SummaryCollector(...) as collector",
            )
        return self._opened

    # ---- once per run -----------------------------------------------------------------------

    def _add_structure(self, facts: Any) -> None:
        """Record the graph of the network and the dataset pipeline."""
        if self._collected.collect_graph:
            batch = tuple(facts.train_dataset_element)
            inputs = batch if facts.loss_fn is None else batch[:1]
            self._run.record.add_value("graph", "network", network_graph(facts.network, inputs))
        data = facts.train_dataset
        if self._collected.collect_dataset_graph and isinstance(data, data_pipeline.Dataset):
            pipeline = data_pipeline.serialize(data)
            self._run.record.add_value("dataset_graph", "train_dataset", pipeline)

    # ---- per step ---------------------------------------------------------------------------

    def _is_due(self, step: int) -> bool:
        return not self._run.has_begun or step % self._every == 0

    def _records_tensors(self, facts: Any, is_first: bool) -> bool:
        """Whether TensorSummary is recorded at this step."""
        every = self._tensor_every
        if every is None:
            every = max(self._every, facts.epoch_num * facts.batch_num // _MOST_TENSORS)
            if self._run.tensor_records >= _MOST_TENSORS:
                return False
        is_due = is_first or self._step % every == 0
        self._run.tensor_records += is_due
        return is_due

    def _add_values(self, facts: Any) -> None:
        if self._collected.collect_input_data:
            self._add_input(facts.train_dataset_element)
        if self._collected.collect_metric:
            self._add_judged("loss/auto", np.mean(np.asarray(loss_of(facts.net_outputs))))
            for name, rate in self._run.rates.items():
                self._add_number(f"{name}/auto", rate)
        if self._collected.histograms:
            for parameter in self._watched(facts.network.trainable_params()):
                self._run.record.add_value("histogram", f"{parameter.name}/auto", parameter)

    def _add_input(self, batch: Any) -> None:
        data = batch[0]
        if isinstance(data, Tensor) and is_picture(data.asnumpy()):
            self._run.record.add_value("image", "input_data/auto", data)
        elif not self._run.was_warned:
            self._run.was_warned = True
            log.warning("SummaryCollector: the input is not images (N, C, H, W), so none are shown")

    def _add_judged(self, tag: str, value: Any) -> None:
        self._run.judged[tag] = None
        self._add_number(tag, value)

    def _add_number(self, tag: str, value: Any) -> None:
        self._run.record.add_value("scalar", tag, Tensor(np.float32(value)))

    def _watched(self, parameters: list[Parameter]) -> list[Parameter]:
        """The parameters with histograms."""
        pattern = self._collected.histogram_regular
        if pattern is None:
            return parameters[:_DEFAULT_HISTOGRAMS]
        return [parameter for parameter in parameters if re.match(pattern, parameter.name)]


def _optional_count(argument: str, value: Any) -> int | None:
    return None if value is None else check_positive_int(OWNER, argument, value)
