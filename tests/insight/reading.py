"""Reading event files with TensorBoard."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.json_format import MessageToDict
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData


def read(folder):
    """Everything TensorBoard finds in a folder."""
    keep_all = dict.fromkeys(("scalars", "images", "histograms", "tensors"), 0)
    accumulator = EventAccumulator(str(folder), size_guidance=keep_all)
    return accumulator.Reload()


@dataclass
class HyperParameters:
    """What the hparams plugin of TensorBoard knows of a run."""

    values: dict
    kinds: dict
    metrics: list
    status: int
    start: float
    end: float


def hyper_parameters(accumulator):
    content = {
        tag.removeprefix("_hparams_/"): HParamsPluginData.FromString(data)
        for tag, data in accumulator.PluginTagToContent("hparams").items()
    }
    started = content["session_start_info"].session_start_info
    ended = content["session_end_info"].session_end_info
    experiment = content["experiment"].experiment
    return HyperParameters(
        {name: MessageToDict(value) for name, value in started.hparams.items()},
        {info.name: info.type for info in experiment.hparam_infos},
        [info.name.tag for info in experiment.metric_infos],
        ended.status,
        started.start_time_secs,
        ended.end_time_secs,
    )
