"""Operators that cannot be run on a part of their arguments as if it were the whole, and why.

Parts of them are independent all the same, as the other test shows.
"""

from __future__ import annotations

RESIZED = set(  # a shape among their fields or static arguments fits the whole only
    """
    AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D
    AdaptiveMaxPoolGrad AffineGrid AvgPoolGrad BartlettWindow BatchNorm Bernoulli Bincount
    BlackmanWindow BroadcastTo CauchyNumbers CholeskyInverse Combinations ConfusionMatrix
    Conv2DBackpropFilter Conv2DBackpropInput Conv2DTranspose Conv3DBackpropFilter
    Conv3DBackpropInput CropAndResize CubicInterpolate DataFormatVecPermute DeformableOffsets
    DepthToSpace Diag DiagEmbed Diagonal DropoutGenMask EmbeddingGrad Eps Expand
    ExtractImagePatches Eye Fill FillV2 Fills FractionalMaxPool3DWithFixedKsize
    FractionalMaxPoolWithFixedKsize Gamma GatherDGrad GatherGrad HammingWindow HannWindow
    Histogram HistogramFixedWidth Interpolate KaiserWindow LogNormalReverse LuUnpack
    MatrixDiagV3 MatrixInverse MatrixLogarithm MaxUnpool2D MaxUnpool3D Meshgrid Multinomial
    MultinomialWithReplacement NPUAllocFloatStatus NPUClearFloatStatus NPUGetFloatStatus
    NonDeterministicInts OneHot Ones OnesLike Pdist ROIAlign RandomCategorical RandomGamma
    RandomInteger RandomShuffle Range RepeatInterleave ResizeArea ResizeBicubic
    ResizeBilinearV2 ResizeLinear1D ResizeNearestNeighbor ResizeNearestNeighborV2
    ReverseSequence STFT ScatterNd SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum
    SelectView SpaceToBatch SpaceToBatchND SpaceToDepth SparseToDense Squeeze StandardGamma
    StandardLaplace StandardNormal SubscriptAddTo SumTo TensorShape TrilIndices TriuIndices
    TruncatedNormal TupleToArray UniformCandidateSampler UniformInt UniformReal
    UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
    UpsampleNearest3D UpsampleTrilinear3D Zeros ZerosLike
    """.split()
)

DIVIDED = set(  # they divide by the number of elements they are given
    """
    BCEWithLogitsLoss BinaryCrossEntropy GaussianNLLLoss HuberLoss KLDivLoss L1LossExt
    MSELossExt MultiMarginLoss MultilabelMarginLoss MultilabelSoftMarginLoss ReduceMean
    SoftCrossEntropy SoftMarginLoss SparseSoftmaxCrossEntropyWithLogits TripletMarginLoss
    """.split()
)

NUMBERED = set(  # places, sizes or random numbers count from the start of the whole
    """
    AdaptiveAvgPool2D AdaptiveAvgPool3D AffineGrid CTCLoss CropAndResize CubicInterpolate
    DataFormatVecPermute Diagonal DiagonalScatter Dropout Dropout2D Dropout3D Embedding
    EmbeddingLookup FillDiagonal FusedSparseAdam FusedSparseFtrl FusedSparseLazyAdam
    FusedSparseProximalAdagrad Gamma Gather GatherD GatherNd GatherV2 GridSampler2D
    GridSampler3D GroupNorm GumbelSoftmax IndexAdd IndexCopy IndexFill IndexPut InplaceAdd
    InplaceIndexAdd InplaceSub InplaceUpdate Interpolate MatrixBandPart MatrixDiagPartV3
    MatrixSetDiagV3 Multinomial MultinomialOnce MultinomialWithReplacement NLLLoss
    NegativeLogLikelihood NoRepeatNGram ROIAlign RandomCategorical RandomGamma
    RepeatInterleave ResizeArea ResizeBicubic ResizeBilinearV2 ResizeLinear1D
    ResizeNearestNeighbor ResizeNearestNeighborV2 ScatterAdd ScatterAddWithAxis ScatterDiv
    ScatterMax ScatterMul ScatterNdAdd ScatterNdDiv ScatterNdMax ScatterNdMul ScatterNdSub
    ScatterNdUpdate ScatterNonAliasingAdd ScatterSub ScatterUpdate SegmentRead
    SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradV2 SparseApplyFtrl
    SparseApplyProximalAdagrad SparseApplyRMSProp SparseGatherV2 TensorScatterAdd
    TensorScatterDiv TensorScatterElements TensorScatterMax TensorScatterMin TensorScatterMul
    TensorScatterSub TensorScatterUpdate Trace Tril Triu UpsampleNearest3D
    UpsampleTrilinear3D
    """.split()
)
