"""Special functions."""

from mycelia.mint.floating import erfc as erfc
from mycelia.mint.floating import exp2 as exp2
from mycelia.mint.floating import expm1 as expm1
from mycelia.mint.floating import log1p as log1p
from mycelia.mint.floating import sinc as sinc
from mycelia.mint.reduction import log_softmax as log_softmax
from mycelia.mint.special.rounding import round as round
