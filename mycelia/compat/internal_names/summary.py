"""`mindspore.train.summary.enums`: the kinds of summaries, and the phases of a run."""

from enum import Enum


class BaseEnum(Enum):
    """Enumeration of strings."""

    @classmethod
    def to_list(cls) -> list[str]:
        """All strings of the enumeration."""
        return [one.value for one in cls]


class PluginEnum(BaseEnum):
    """Kinds of summaries."""

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
    """Kinds of summary files."""

    EXPORTER = "exporter"
    EXPLAINER = "explainer"
    LINEAGE = "lineage"
    SUMMARY = "summary"


class ModeEnum(BaseEnum):
    """Phases of a run."""

    TRAIN = "train"
    EVAL = "eval"
