"""Scientific computing with SciPy's interface: linear algebra, optimization, transforms."""

from mycelia.scipy import fft as fft
from mycelia.scipy import linalg as linalg
from mycelia.scipy import optimize as optimize
from mycelia.scipy import sparse as sparse
