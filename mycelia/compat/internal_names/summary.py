"""`mindspore.train.summary.enums`: the kinds of summaries, and the phases of a run."""

from enum import Enum


class BaseEnum(Enum):
    """An enumeration of strings."""

    @classmethod
    def to_list(cls) -> list[str]:
        """The strings."""
        return [one.value for one in cls]


class PluginEnum(BaseEnum):
    """What can be recorded."""

    GRAPH = "graph"
    SCALAR = "scalar"
    IMAGE = "image"
    TENSOR = "tensor"
    HISTOGRAM = "histogram"
    TRAIN_LINEAGE = "train_lineage"
    EVAL_LINEAGE = "eval_lineage"
    CUSTOM_LINEAGE_DATA = "custom_lineage_data"
    DATASET_GRAPH = "dataset_graph"
    EXPLAINER = "explainer"
    LANDSCAPE = "landscape"


class WriterPluginEnum(BaseEnum):
    """The files that records go to."""

    EXPORTER = "exporter"
    EXPLAINER = "explainer"
    LINEAGE = "lineage"
    SUMMARY = "summary"


class ModeEnum(BaseEnum):
    """The phases of a run."""

    TRAIN = "train"
    EVAL = "eval"
