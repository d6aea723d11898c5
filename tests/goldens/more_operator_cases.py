"""Calls of functions, operators and Tensor methods whose results are compared with the real MindSpore's.

Plain Python and numpy, so that the maker of the goldens and the test share it. Each case is (target, keywords,
arguments). Targets are `ops.name` (a function; a class, made with the keywords, if it begins with a capital) or
`Tensor.name` (a method of the first argument; a property if there are no others and it is no function). Arguments
are written as in operator_cases; besides, `c64[...]` is complex and `raw_int:[...]` a list of int64 numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .operator_cases import DTYPE_NAMES as DTYPE_NAMES
from .operator_cases import Drawn
from .operator_cases import draw as draw_plain

X, Y, V = "f32[2,3]", "f32[2,3]:spread", "f32[5]"
P, U, D = "f32[2,3]:positive", "f32[2,3]:unit", "f32[2,3]:distinct"
I, J = "i32[2,3]", "i32[2,3]:<4"
M, SQ = "f32[3,3]", "f32[2,3,3]"
IMG, ROW, VOL = "f32[1,2,6,6]:distinct", "f32[1,2,6]:distinct", "f32[1,2,4,4,4]:distinct"

Case = tuple[str, dict[str, Any], tuple[Any, ...]]


def each(names: str, *args: Any, **fields: Any) -> list[Case]:
    """One case for each of several targets with the same arguments."""
    return [(name, fields, args) for name in names.split()]


CASES: list[Case] = [
    *each("ops.hardshrink ops.hardsigmoid ops.hardswish ops.soft_shrink ops.softshrink ops.tanhshrink", Y),
    *each("ops.logsigmoid ops.softsign ops.mish ops.silu ops.selu ops.celu ops.elu ops.relu6 ops.gelu", Y),
    *each("ops.absolute ops.sgn ops.positive ops.negative ops.square ops.exp2 ops.expm1 ops.sinc", Y),
    *each("ops.isposinf ops.isneginf ops.isreal ops.isnan ops.isinf ops.isfinite ops.signbit", Y),
    *each("ops.inv ops.log10 ops.log2 ops.log1p ops.rsqrt ops.digamma ops.lgamma ops.sqrt ops.reciprocal", P),
    *each("ops.deg2rad ops.rad2deg ops.frac ops.trunc ops.round ops.ceil ops.floor", Y),
    *each("ops.bessel_i0 ops.bessel_i0e ops.bessel_i1 ops.bessel_i1e ops.bessel_j0 ops.bessel_j1", Y),
    *each("ops.bessel_k0 ops.bessel_k0e ops.bessel_k1 ops.bessel_k1e ops.bessel_y0 ops.bessel_y1", P),
    *each("ops.subtract ops.multiply ops.tensor_add ops.tensor_sub ops.tensor_mul ops.fmax ops.fmin", D, Y),
    *each("ops.true_divide ops.xdivy ops.hypot ops.copysign ops.tensor_div ops.divide", D, P),
    *each("ops.tensor_ge ops.tensor_gt ops.tensor_le ops.tensor_lt ops.ge ops.ne ops.eq", I, J),
    *each("ops.floor_mod ops.floormod ops.tensor_mod ops.truncate_mod ops.truncate_div ops.floor_div", I, "i32[2,3]:positive"),
    *each("ops.gcd ops.lcm", I, "i32[2,3]:positive"),
    *each("ops.logaddexp ops.logaddexp2 ops.nextafter ops.heaviside", X, Y),
    *each("ops.igamma ops.igammac", P, "f32[2,3]:positive"),
    *each("ops.bitwise_left_shift ops.bitwise_right_shift", "i32[4]:<9", "i32[4]:<3"),
    *each("ops.bitwise_and ops.bitwise_or ops.bitwise_xor", I, J),
    *each("ops.fliplr ops.flipud ops.ravel ops.t ops.aminmax ops.nanmean ops.nansum", D),
    *each("ops.rank ops.shape ops.size ops.numel ops.dtype ops.is_tensor", X),
    *each("ops.atleast_1d ops.atleast_2d ops.atleast_3d ops.deepcopy ops.diagflat ops.argwhere", "f32[3]"),
    *each("ops.reduce_max ops.reduce_min ops.reduce_mean ops.reduce_sum ops.std ops.var ops.logsumexp", D, 1),
    *each("ops.cummax ops.cummin ops.cumprod ops.cumsum ops.logcumsumexp ops.sort ops.nanmedian ops.median", D, 1),
    *each("ops.hsplit", "f32[2,4]", 2), *each("ops.vsplit", "f32[4,2]", 2), *each("ops.dsplit", "f32[1,2,4]", 2),
    *each("ops.tensor_split", "f32[5,2]", 2), *each("ops.chunk", "f32[5,2]", 2), *each("ops.unstack", X, 1),
    *each("ops.hstack ops.vstack ops.dstack ops.column_stack ops.row_stack", (X, X)),
    *each("ops.accumulate_n ops.addn", (X, X)), *each("ops.block_diag", X, "f32[1,2]"),
    *each("ops.cartesian_prod", "f32[2]", "f32[3]"), ("ops.combinations", {"r": 2}, ("f32[4]",)),
    *each("ops.addcmul ops.addcdiv", X, X, P), ("ops.addr", {}, ("f32[2,3]", "f32[2]", "f32[3]")),
    *each("ops.clip ops.clip_by_value ops.clamp", X, -0.5, 0.5),
    ("ops.matrix_diag", {}, ("f32[3]",)), ("ops.matrix_diag_part", {"padding_value": "scalar:0.0"}, (M,)),
    ("ops.diag_embed", {}, (X,)), ("ops.diagonal", {"offset": 1}, (M,)), ("ops.diag", {}, ("f32[3]",)),
    ("ops.diagonal_scatter", {}, (M, "f32[3]")), ("ops.tril", {"diagonal": 1}, (M,)), ("ops.trace", {}, (M,)),
    ("ops.tril_indices", {}, (3, 4)), ("ops.triu_indices", {}, (3, 4)), ("ops.adjoint", {}, ("c64[2,3]",)),
    *each("ops.angle ops.conj ops.real ops.imag ops.view_as_real ops.is_complex ops.is_floating_point", "c64[2,3]"),
    *each("ops.fft ops.ifft ops.hfft ops.irfft", "c64[4,5]"), *each("ops.fft ops.ihfft ops.rfft", "f32[4,5]"),
    *each("ops.fft2 ops.ifft2 ops.fftn ops.ifftn ops.irfft2 ops.irfftn ops.hfft2 ops.hfftn", "c64[3,4]"),
    *each("ops.rfft2 ops.rfftn ops.ihfft2 ops.ihfftn ops.fft2", "f32[3,4]"),
    *each("ops.fft ops.rfft ops.ihfft", "f32[3,4]", n=6, dim=0, norm="ortho"),
    *each("ops.fftn ops.rfftn", "f32[3,4]", s=(2, 5), norm="forward"), ("ops.fft", {}, ("i32[4]",)),
    *each("ops.fftshift ops.ifftshift", "f32[3,4]"), ("ops.fftshift", {"dim": 1}, ("f32[2,5]",)),
    *each("ops.fftfreq ops.rfftfreq", 5, 0.5), ("ops.stft", {}, ("f32[2,16]", 4)),
    ("ops.stft", {"normalized": True, "return_complex": True}, ("f32[16]", 4, 2, 3)),
    ("ops.FFTWithSize", {"signal_ndim": 1, "inverse": False, "real": True}, ("f32[2,6]",)),
    ("ops.FFTWithSize", {"signal_ndim": 2, "inverse": True, "real": False}, ("c64[3,4]",)),
    *each("ops.hann_window ops.hamming_window ops.kaiser_window", 6), ("ops.hann_window", {"periodic": False}, (5,)),
    *each("ops.bartlett_window ops.blackman_window", "raw_int:5"), ("ops.HammingWindow", {"alpha": 0.6}, ("raw_int:[5]",)),
    *each("ops.BartlettWindow ops.BlackmanWindow", "raw_int:7", periodic=False),
    ("ops.unsorted_segment_sum", {}, ("f32[4,2]", "i32[4]:<3", 3)),
    ("ops.unsorted_segment_sum", {}, ("f32[2,3]", "i32[2,3]:<4", 5)),
    ("ops.unsorted_segment_prod", {}, ("f32[4,2]:positive", "i32[4]:<3", 4)),
    *each("ops.unsorted_segment_min ops.unsorted_segment_max", "f32[4,2]:distinct", "i32[4]:<3", 4),
    *each("ops.SegmentSum ops.SegmentMean ops.SegmentProd ops.SegmentMin ops.SegmentMax", "f32[4,2]", "raw_int:[0,0,2,2]"),
    ("ops.sparse_segment_mean", {}, ("f32[4,2]", "i32[3]:<4", "raw_i32:[0,0,1]")),
    ("ops.cross", {}, ("f32[2,3]", "f32[2,3]")), ("ops.cross", {"dim": 0}, ("f32[3,2]", "f32[3,2]")),
    *each("ops.diff", "f32[2,5]"), ("ops.diff", {"n": 2, "axis": 0}, ("f32[4,2]",)), ("ops.diff", {}, ("bool[5]",)),
    ("ops.diff", {"prepend": "f32[2,1]"}, ("f32[2,3]",)), ("ops.diff_ext", {}, ("f32[2,5]",)),
    *each("ops.trapz", "f32[2,4]"), ("ops.trapz", {"dx": 0.5, "dim": 0}, ("f32[3,2]",)), ("ops.trapz", {}, ("f32[4]", "f32[4]:distinct")),
    *each("ops.vander", "f32[3]"), ("ops.vander", {"N": 2}, ("i32[3]",)), ("ops.cov", {}, (X,)),
    ("ops.cov", {"correction": 0}, ("f32[5]",)), ("ops.cov", {"aweights": "f32[3]:positive"}, (X,)),
    ("ops.renorm", {}, ("f32[3,4]", 2, 0, 1.0)), ("ops.renorm", {}, ("f32[2,3,2]", 1, 1, 2.0)),
    *each("ops.logit", U), ("ops.logit", {"eps": 0.3}, (U,)), *each("ops.eps", X), ("ops.Betainc", {}, (P, P, U)),
    ("ops.bincount", {}, ("i32[6]:<4",)), ("ops.bincount", {"minlength": 7}, ("i32[6]:<4", "f32[6]")),
    ("ops.intopk", {}, ("f32[4,5]:distinct", "i32[4]:<5", 2)), ("ops.unique_with_pad", {}, ("i32[6]:<3", -1)),
    ("ops.LowerBound", {}, ("raw:[[0,1,3,5],[1,2,2,4]]", "raw:[[1,2],[2,9]]")),
    ("ops.UpperBound", {}, ("raw:[[0,1,3,5],[1,2,2,4]]", "raw:[[1,2],[2,9]]")),
    ("ops.SubAndFilter", {}, ("i32[6]", 4, 1)), ("ops.ctc_greedy_decoder", {}, ("f32[5,2,4]", "raw_i32:[5,3]")),
    ("ops.ctc_greedy_decoder", {"merge_repeated": False}, ("f32[5,2,3]", "raw_i32:[5,4]")),
    ("ops.RaggedRange", {"Tsplits": "int64"}, ("raw_i32:[2,5,8]", "raw_i32:[3,5,12]", "raw_i32:[1,1,2]")),
    ("ops.ListDiff", {}, ("i32[6]", "i32[3]")), ("ops.NthElement", {"reverse": True}, ("f32[2,5]:distinct", 1)),
    ("ops.EqualCount", {}, ("i32[6]:<2", "i32[6]:<2")), ("ops.CountNonZero", {"dims": [1]}, ("i32[2,3]:<2",)),
    ("ops.Bincount", {}, ("i32[6]:<4", "raw_i32:5", "f32[6]")),
    ("ops.RGBToHSV", {}, ("f32[1,2,2,3]:unit",)), ("ops.HSVToRGB", {}, ("f32[1,2,2,3]:unit",)),
    ("ops.AdjustHue", {}, ("f32[2,2,3]:unit", "scalar:0.3")), ("ops.AdjustSaturation", {}, ("f32[2,2,3]:unit", "scalar:0.4")),
    ("ops.MatrixLogarithm", {}, ("c64[2,2]",)), ("ops.MatrixSolveLs", {}, ("f32[4,2]", "f32[4,1]", "f64[]:unit")),
    ("ops.TridiagonalMatMul", {}, ("f32[1,3]", "f32[1,3]", "f32[1,3]", "f32[3,2]")),
    ("ops.NuclearNorm", {"dim": (0, 2), "keepdim": True}, ("f32[2,3,2]",)), *each("ops.cond", M),
    ("ops.cond", {}, (M, "fro_")), ("ops.ConjugateTranspose", {}, ("c64[2,3]", (1, 0))),
    ("ops.deformable_conv2d", {}, ("f32[1,2,5,5]", "f32[3,2,2,2]", "f32[1,12,4,4]:unit", (2, 2), (1, 1, 1, 1), (0, 0, 0, 0))),
    ("ops.deformable_conv2d", {"bias": "f32[2]", "dilations": (1, 1, 2, 2)}, ("f32[1,2,6,6]", "f32[2,2,2,2]", "f32[1,12,6,6]:unit", (2, 2), (1, 1, 1, 1), (1, 1, 1, 1))),
    ("ops.deformable_conv2d", {"deformable_groups": 2}, ("f32[1,4,5,5]", "f32[3,4,2,2]", "f32[1,24,2,2]:unit", (2, 2), (1, 1, 2, 2), (0, 0, 0, 0))),
    ("ops.sequence_mask", {}, ("i32[2,2]:<5", 5)), ("ops.sequence_mask", {}, ("raw_int:[1,3]",)),
    ("ops.scalar_add", {}, (2, 3.5)), ("ops.scalar_sub", {}, (2, 3)), ("ops.scalar_mul", {}, (2, 3)), ("ops.scalar_div", {}, (7, 2)),
    ("ops.scalar_floordiv", {}, (-7, 2)), ("ops.scalar_mod", {}, (-7, 3)), ("ops.scalar_pow", {}, (2, 3)), ("ops.scalar_log", {}, (2.0,)),
    ("ops.scalar_uadd", {}, (2.5,)), ("ops.scalar_usub", {}, (2.5,)), ("ops.scalar_min", {}, (2, 3)), ("ops.scalar_max", {}, (2, 3)),
    *each("ops.scalar_eq ops.scalar_lt ops.scalar_le ops.scalar_gt ops.scalar_ge", 2, 3),
    ("ops.list_len", {}, ([1, 2],)), ("ops.make_list", {}, (1, 2)), ("ops.is_", {}, (None, None)), ("ops.reduced_shape", {}, ((2, 3), (1,))),
    *each("ops.adaptive_avg_pool1d ops.adaptive_max_pool1d", ROW, 3), *each("ops.adaptive_avg_pool2d ops.adaptive_max_pool2d", IMG, (2, 3)),
    *each("ops.adaptive_avg_pool3d ops.adaptive_max_pool3d", VOL, 2), *each("ops.avg_pool1d", ROW, 2, 2),
    *each("ops.avg_pool2d ops.max_pool2d", IMG, 2, 2), *each("ops.avg_pool3d ops.max_pool3d", VOL, 2, 2),
    ("ops.lp_pool1d", {}, ("f32[1,2,6]:positive", 2, 2)), ("ops.lp_pool2d", {}, ("f32[1,2,6,6]:positive", 2, 2)),
    ("ops.unfold", {}, ("f32[1,2,4,4]", 2)), ("ops.fold", {}, ("f32[1,8,9]", "raw_i32:[4,4]", 2)), ("ops.pixel_shuffle", {}, ("f32[1,4,2,2]", 2)),
    ("ops.pixel_unshuffle", {}, ("f32[1,1,4,4]", 2)), ("ops.channel_shuffle", {}, ("f32[1,4,2,2]", 2)),
    ("ops.interpolate", {"size": (4, 4), "mode": "bilinear"}, ("f32[1,2,3,3]",)), ("ops.interpolate", {"size": (5, 5), "mode": "nearest"}, ("f32[1,2,3,3]",)),
    ("ops.affine_grid", {}, ("f32[1,2,3]", (1, 1, 3, 4))), ("ops.grid_sample", {}, ("f32[1,2,4,4]", "f32[1,3,3,2]:unit")),
    ("ops.batch_to_space_nd", {}, ("f32[4,1,1,1]", [2, 2], [[0, 0], [0, 0]])), ("ops.space_to_batch_nd", {}, ("f32[1,1,2,2]", [2, 2], [[0, 0], [0, 0]])),
    ("ops.pad", {}, (X, (1, 2))), ("ops.pad", {"mode": "reflect"}, ("f32[1,2,4]", (1, 2))), ("ops.mirror_pad", {"mode": "SYMMETRIC"}, (X, "raw_int:[[1,1],[1,1]]")),
    ("ops.crop_and_resize", {}, ("f32[1,4,4,1]", "raw:[[0,0,1,1]]", "raw_i32:[0]", (2, 2))),
    *each("ops.l1_loss ops.smooth_l1_loss ops.huber_loss ops.mse_loss", X, Y), *each("ops.kl_div", X, U, reduction="sum"),
    *each("ops.binary_cross_entropy", U, U), ("ops.gaussian_nll_loss", {}, (X, Y, P)), ("ops.soft_margin_loss", {}, (X, "raw:[[1,-1,1],[-1,1,1]]")),
    ("ops.cosine_embedding_loss", {}, (X, Y, "raw_i32:[1,-1]")), ("ops.margin_ranking_loss", {}, (X, Y, "raw:[[1,-1,1],[-1,1,1]]")),
    ("ops.multi_margin_loss", {}, (X, "raw_int:[0,2]")), ("ops.multilabel_margin_loss", {}, (X, "raw_i32:[[0,2,-1],[1,-1,-1]]")),
    ("ops.multilabel_soft_margin_loss", {}, (X, "raw:[[1,0,1],[0,1,1]]")), ("ops.triplet_margin_loss", {}, (X, Y, D)),
    ("ops.hinge_embedding_loss", {}, (X, "raw:[[1,-1,1],[-1,1,1]]")), ("ops.cosine_similarity", {}, (X, Y)), ("ops.nll_loss", {}, (X, "raw_i32:[0,2]")),
    ("ops.cross_entropy", {"label_smoothing": 0.1}, (X, "raw_i32:[0,2]")), ("ops.ctc_loss", {}, ("f32[5,1,4]", "raw_int:[[1,2]]", "raw_int:[5]", "raw_int:[2]")),
    *each("ops.dist", X, Y), *each("ops.pdist", "f32[4,3]"), *each("ops.cdist", "f32[2,3,2]", "f32[2,4,2]"),
    *each("ops.kron ops.inner", X, "f32[2,3]"), *each("ops.outer ops.ger", "f32[2]", "f32[3]"), ("ops.vecdot", {}, (X, Y)),
    ("ops.tensor_dot", {"axes": 1}, ("f32[2,3]", "f32[3,2]")), ("ops.batch_dot", {}, ("f32[2,3]", "f32[2,3]")), ("ops.einsum", {}, ("ij,jk->ik", X, "f32[3,2]")),
    ("ops.baddbmm", {}, ("f32[1,2,2]", "f32[1,2,3]", "f32[1,3,2]")), ("ops.addbmm", {}, ("f32[2,2]", "f32[2,2,3]", "f32[2,3,2]")),
    ("ops.addmv", {}, ("f32[2]", X, "f32[3]")), ("ops.addmm", {}, ("f32[2,2]", X, "f32[3,2]")), ("ops.bmm", {}, ("f32[2,2,3]", "f32[2,3,2]")),
    ("ops.ldexp", {}, (X, "i32[2,3]:<3")), ("ops.float_power", {}, (P, 2)), ("ops.xlogy", {}, (X, P)), ("ops.lerp", {}, (X, Y, 0.3)),
    *each("ops.det ops.logdet ops.slogdet ops.matrix_determinant ops.log_matrix_determinant ops.inverse ops.pinv", "spd:3"),
    *each("ops.cholesky", "spd:3"), ("ops.cholesky_inverse", {}, ("raw:[[2,0,0],[1,3,0],[1,1,2]]",)), ("ops.matrix_power", {}, (M, 2)), ("ops.cholesky_solve", {}, ("f32[3,2]", "spd:3")),
    ("ops.matrix_solve", {}, ("spd:3", "f32[3,2]")), ("ops.lstsq", {}, ("f32[4,2]", "f32[4,1]")), *each("ops.svd", M, compute_uv=False),
    ("ops.matrix_norm", {}, (M,)), ("ops.vector_norm", {}, (X,)), ("ops.norm", {"ord": 1, "dim": 1}, (X,)), ("ops.norm", {}, (X,)),
    *each("ops.msort", D), ("ops.topk", {}, (D, 2)), ("ops.bucketize", {}, (X, [-0.5, 0.5])), ("ops.searchsorted", {}, ("raw:[1,2,4,8]", "raw:[0,2,5]")),
    ("ops.histc", {"bins": 4}, ("f32[6]",)), ("ops.unique_consecutive", {}, ("raw_i32:[1,1,2,2,1]",)), ("ops.count_nonzero", {}, ("i32[2,3]:<2",)),
    ("ops.gather_elements", {}, (X, 1, "i64[2,2]:<3")), ("ops.take", {}, (X, "raw_int:[0,4]")), ("ops.index_select", {}, (X, 1, "raw_int:[2,0]")),
    ("ops.masked_fill", {}, (X, "bool[2,3]", 9.0)), ("ops.masked_select", {}, (X, "bool[2,3]")), ("ops.where", {}, ("bool[2,3]", X, Y)),
    ("ops.tensor_scatter_elements", {}, (X, "i32[1,3]:<2", "f32[1,3]")), ("ops.tensor_scatter_min", {}, ("f32[4,2]", "i32[3,1]:<4", "f32[3,2]")),
    ("ops.tensor_scatter_sub", {}, ("f32[4,2]", "i32[3,1]:<4", "f32[3,2]")), ("ops.tensor_scatter_max", {}, ("f32[4,2]", "i32[3,1]:<4", "f32[3,2]")),
    ("ops.select_scatter", {}, (X, "f32[2]", 1, 0)), ("ops.slice_scatter", {}, ("f32[4,2]", "f32[2,2]", 0, 1, 3)), ("ops.index_fill", {}, (X, 1, "raw_i32:[0,2]", 5.0)),
    ("ops.inplace_add", {"indices": (0, 2)}, ("f32[3,2]", "f32[2,2]")), ("ops.inplace_sub", {"indices": (1,)}, ("f32[3,2]", "f32[1,2]")), ("ops.inplace_update", {"indices": (1,)}, ("f32[3,2]", "f32[1,2]")),
    ("ops.repeat_elements", {"rep": 2, "axis": 1}, (X,)), ("ops.repeat_interleave", {"repeats": 2, "axis": 0}, (X,)), ("ops.rot90", {"k": 1, "dims": [0, 1]}, (X,)),
    ("ops.roll", {"shifts": 1, "dims": 1}, (X,)), ("ops.reverse_sequence", {"seq_lengths": "raw_int:[2,3]", "seq_dim": 1}, (X,)), ("ops.movedim", {}, ("f32[2,3,4]", 0, 2)),
    ("ops.moveaxis", {}, ("f32[2,3,4]", 0, 2)), ("ops.swapdims", {}, (X, 0, 1)), ("ops.expand_as", {}, ("f32[1,3]", X)), ("ops.view_as", {}, (X, "f32[3,2]")),
    ("ops.type_as", {}, (X, I)), ("ops.strided_slice", {}, ("f32[4,5]", (0, 1), (4, 5), (2, 2))), ("ops.narrow", {}, ("f32[4,2]", 0, 1, 2)),
    ("ops.logspace", {}, ("scalar:0.0", "scalar:2.0", 4)), ("ops.linspace", {}, (0.0, 1.0, 5)), ("ops.range", {}, (0, 6, 2)), ("ops.arange", {}, (1, 7, 2)),
    ("ops.matrix_band_part", {}, (M, 1, 0)), ("ops.bias_add", {}, (X, "f32[3]")), ("ops.approximate_equal", {"tolerance": 0.5}, (X, Y)), ("ops.isclose", {}, (X, X)),
    ("ops.iou", {}, ("raw:[[0,0,3,3],[1,1,5,4]]", "raw:[[0,0,2,2],[1,2,4,6]]")), ("ops.population_count", {}, ("raw_i16:[1,7,-1]",)), ("ops.nan_to_num", {}, ("raw:[1.0,float('nan')]",)),
    ("ops.mvlgamma", {}, ("f32[2]:above_one", 2)), ("ops.polygamma", {}, ("raw_i32:1", P)), ("ops.zeta", {}, ("f32[3]:above_one", "f32[3]:positive")),
    ("ops.rms_norm", {}, (X, "f32[3]")), ("ops.layer_norm", {}, (X, (3,), "f32[3]", "f32[3]")), ("ops.group_norm", {"num_groups": 2}, ("f32[2,4,3]",)), ("ops.lrn", {}, ("f32[1,4,3,3]",)),
    ("ops.batch_norm", {}, ("f32[2,3]", "f32[3]", "f32[3]:positive", "f32[3]", "f32[3]")), ("ops.softmin", {}, (X,)), ("ops.glu", {}, ("f32[2,4]",)), ("ops.prelu", {}, ("f32[2,3,2]:spread", "f32[3]:unit")),
    ("ops.conv1d", {}, ("f32[1,2,6]", "f32[3,2,2]")), ("ops.conv2d", {}, ("f32[1,2,5,5]", "f32[3,2,2,2]")), ("ops.conv3d", {}, ("f32[1,2,4,4,4]", "f32[3,2,2,2,2]")),
    ("ops.mixed_precision_cast", {}, ("float16", X)), ("ops.coalesce", {}, ("raw_int:[[0,0,1],[1,1,2]]", "raw:[1,5,4]", "raw_int:[3,3]")),
    ("ops.CompareAndBitpack", {}, ("f32[2,8]", "scalar:0.2")), ("ops.DataFormatDimMap", {}, ("raw_i32:[0,1,-2,3]",)), ("ops.DataFormatVecPermute", {}, ("raw_i32:[1,2,3,4]",)),
    ("ops.NoRepeatNGram", {"ngram_size": 2}, ("raw_i32:[[[1,2,1,2,5,1]]]", "f32[1,1,6]")), ("ops.SparseToDense", {}, ("raw_int:[[0,1],[1,2]]", "f32[2]", (3, 4))),
    ("ops.ExtractVolumePatches", {"kernel_size": [1, 1, 2, 2, 2], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}, ("f32[1,1,3,3,3]",)),
    ("ops.fractional_max_pool2d", {"_random_samples": "f32[1,2,2]:unit", "return_indices": True}, ("f32[1,2,9,9]:distinct", 2, (4, 5))),
    ("ops.fractional_max_pool3d", {"_random_samples": "f32[1,1,3]:unit", "return_indices": True}, ("f32[1,1,7,8,9]:distinct", 2, (3, 4, 5))),
    *each("Tensor.mT Tensor.H Tensor.mH Tensor.T", X), *each("Tensor.kthvalue", D, 2), *each("Tensor.allclose", X, X), *each("Tensor.bitwise_not", I),
    *each("Tensor.argmax_with_value Tensor.argmin_with_value", D, 1), ("Tensor.argmax_with_value", {"axis": None}, (D,)),
    ("Tensor.choose", {}, ("raw_int:[1,0,2]", ("i32[3]", "i32[3]", "i32[3]"))), ("Tensor.scatter_add", {}, (X, "raw_i32:[[0,0]]", "f32[1]")),
    *each("Tensor.scatter_sub Tensor.scatter_mul Tensor.scatter_min Tensor.scatter_max Tensor.scatter_div", "f32[4,2]", "raw_i32:[[0],[2]]", "f32[2,2]:positive"),
    ("Tensor.masked_scatter", {}, (X, "bool[2,3]", "f32[6]")), ("Tensor.sum_to_size", {}, (X, (1, 3))), ("Tensor.searchsorted", {}, ("raw:[1,2,4]", "raw:[2,3]")),
    ("Tensor.fill_diagonal", {}, (X, 9.0)), ("Tensor.index_put", {}, (X, ("raw_int:[0]", "raw_int:[1]"), "f32[1]")), ("Tensor.get_bytes", {}, (X,)), ("Tensor.logit", {}, (U,)),
    ("Tensor.cross", {}, (X, X)), ("Tensor.cov", {}, (X,)), ("Tensor.diff", {}, (X,)), ("Tensor.renorm", {}, (X, 2, 0, 1.0)), ("Tensor.bincount", {}, ("raw_i32:[1,2,1]",)),
    ("Tensor.inplace_update", {}, ("f32[3,2]", "f32[1,2]", (1,))), ("Tensor.unique_with_pad", {}, ("i32[5]:<3", 0)), ("Tensor.unsorted_segment_max", {}, ("f32[4,2]", "i32[4]:<3", 3)),
    *each("Tensor.unsorted_segment_min Tensor.unsorted_segment_prod", "f32[4,2]:positive", "i32[4]:<3", 3), *each("Tensor.storage_offset Tensor.has_init", X),
    *each("Tensor.ptp Tensor.any Tensor.all Tensor.sum Tensor.mean Tensor.prod", P, 1), *each("Tensor.max Tensor.min", P, axis=1), *each("Tensor.std Tensor.var", X, 1),
    *each("Tensor.abs Tensor.exp Tensor.sigmoid Tensor.tanh Tensor.isnan Tensor.erf Tensor.sin Tensor.cos Tensor.flatten Tensor.nonzero", X),
    *each("Tensor.fmod Tensor.remainder Tensor.atan2 Tensor.hypot Tensor.maximum Tensor.logaddexp", X, P), ("Tensor.tril", {}, (M,)), ("Tensor.repeat", {}, (X, 2)), ("Tensor.take", {}, (X, "raw_i32:[0,4]")),
]  # fmt: skip

INTEGERS = {"raw_int:": np.int64, "raw_i32:": np.int32, "raw_i16:": np.int16}


def draw(spec: Any, random: np.random.RandomState) -> Any:
    """The argument for `spec`, as operator_cases.draw, with complex and whole numbers besides."""
    if isinstance(spec, tuple) and any(isinstance(s, str) for s in spec):
        return tuple(draw(s, random) for s in spec)
    if not isinstance(spec, str) or spec.endswith("_") or "->" in spec:
        return spec.rstrip("_") if isinstance(spec, str) else spec
    for head, kind in INTEGERS.items():
        if spec.startswith(head):
            return Drawn(np.array(eval(spec[len(head) :]), kind))
    if spec.startswith("c64["):
        parts = [draw_plain("f32" + spec[3:], random).array for _ in range(2)]
        return Drawn((parts[0] + 1j * parts[1]).astype(np.complex64))
    if spec.startswith("spd:"):
        root = random.standard_normal((int(spec[4:]),) * 2)
        return Drawn((root @ root.T + np.eye(len(root))).astype(np.float32))
    return draw_plain(spec, random) if is_drawn(spec) else spec


def is_drawn(spec: str) -> bool:
    """Whether a text stands for a tensor rather than for itself."""
    return "[" in spec or spec.startswith("scalar:")
