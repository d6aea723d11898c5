"""Transforms of arbitrary data: `mindspore.dataset.transforms`."""

from mycelia.dataset.transforms.arrays import Concatenate as Concatenate
from mycelia.dataset.transforms.arrays import Duplicate as Duplicate
from mycelia.dataset.transforms.arrays import Fill as Fill
from mycelia.dataset.transforms.arrays import Mask as Mask
from mycelia.dataset.transforms.arrays import OneHot as OneHot
from mycelia.dataset.transforms.arrays import PadEnd as PadEnd
from mycelia.dataset.transforms.arrays import Relational as Relational
from mycelia.dataset.transforms.arrays import Slice as Slice
from mycelia.dataset.transforms.arrays import TypeCast as TypeCast
from mycelia.dataset.transforms.arrays import Unique as Unique
from mycelia.dataset.transforms.compose import Compose as Compose
from mycelia.dataset.transforms.compose import RandomApply as RandomApply
from mycelia.dataset.transforms.compose import RandomChoice as RandomChoice
from mycelia.dataset.transforms.compose import RandomOrder as RandomOrder
