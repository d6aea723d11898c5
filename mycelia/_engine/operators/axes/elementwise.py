"""The jax primitives that work element by element."""

from __future__ import annotations

ELEMENTWISE = frozenset(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp
    clz complex conj convert_element_type copy copy_p cos cosh device_put digamma div eq eq_to erf
    erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a igammac imag integer_pow is_finite
    le le_to lgamma log log1p logistic lt lt_to max min mul ne neg nextafter not or polygamma
    population_count pow random_fold_in random_gamma random_gamma_grad real reduce_precision
    regularized_incomplete_beta rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh threefry2x32 xor zeta
    carry join
    """.split()
)
