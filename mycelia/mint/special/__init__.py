"""Special functions."""

from mycelia.mint.float_functions import erfc as erfc
from mycelia.mint.float_functions import exp2 as exp2
from mycelia.mint.float_functions import expm1 as expm1
from mycelia.mint.float_functions import log1p as log1p
from mycelia.mint.float_functions import sinc as sinc
from mycelia.mint.reduction import log_softmax as log_softmax
from mycelia.mint.special.rounding import round as round
