"""Constants and dtypes with NumPy's names."""

import math

from mycelia._engine.core.dtype import bool_ as bool_
from mycelia._engine.core.dtype import float16 as float16
from mycelia._engine.core.dtype import float32 as float32
from mycelia._engine.core.dtype import float64 as float64
from mycelia._engine.core.dtype import int8 as int8
from mycelia._engine.core.dtype import int16 as int16
from mycelia._engine.core.dtype import int32 as int32
from mycelia._engine.core.dtype import int64 as int64
from mycelia._engine.core.dtype import uint8 as uint8
from mycelia._engine.core.dtype import uint16 as uint16
from mycelia._engine.core.dtype import uint32 as uint32
from mycelia._engine.core.dtype import uint64 as uint64

int_, uint, float_ = int32, uint32, float32

pi, inf, nan = math.pi, math.inf, math.nan
PINF, NINF = inf, -inf
