"""Linear algebra: inverses, factorizations, and norms."""

from mycelia.mint.matrix import inv as inv
from mycelia.mint.matrix import matrix_norm as matrix_norm
from mycelia.mint.matrix import qr as qr
from mycelia.mint.matrix import vector_norm as vector_norm
from mycelia.ops import norm as norm
