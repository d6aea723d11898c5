"""Loss functions."""

from mycelia.nn.loss.base import LossBase
from mycelia.nn.loss.classification import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    KLDivLoss,
    NLLLoss,
    SoftmaxCrossEntropyWithLogits,
)
from mycelia.nn.loss.embedding import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from mycelia.nn.loss.focal import FocalLoss
from mycelia.nn.loss.margin import (
    MultilabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
)
from mycelia.nn.loss.regression import (
    GaussianNLLLoss,
    HuberLoss,
    L1Loss,
    MAELoss,
    MSELoss,
    PoissonNLLLoss,
    RMSELoss,
    SmoothL1Loss,
)
from mycelia.nn.loss.sampled import SampledSoftmaxLoss
from mycelia.nn.loss.segmentation import DiceLoss, MultiClassDiceLoss
from mycelia.nn.loss.sequence import CTCLoss

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "FocalLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LossBase",
    "MAELoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiClassDiceLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultilabelMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "RMSELoss",
    "SampledSoftmaxLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "SoftmaxCrossEntropyWithLogits",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
