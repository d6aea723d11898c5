"""Products of matrices: what is refused, in any size."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2, 2, 2), (2, 2)), ((2, 2), (2,))])
@pytest.mark.parametrize("side", [1, 20])  # small ones are computed by numpy, which takes vectors
def test_products_of_no_matrices_are_refused(shapes, side):
    x, y = (Tensor(np.ones([side * n for n in shape], np.float32)) for shape in shapes)
    with pytest.raises(ValueError, match="both inputs must be matrices"):
        ops.MatMul()(x, y)


def test_products_of_different_dtypes_are_refused():
    x, y = Tensor(np.ones((2, 3)), ms.int32), Tensor(np.ones((3, 2)), ms.float32)
    for product in (ops.matmul, ops.MatMul(), ops.BatchMatMul()):
        with pytest.raises(TypeError, match="different dtypes"):
            product(x, y)
