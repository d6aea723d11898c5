"""Mycelia: an all-scenario deep-learning framework with MindSpore's interface on XLA."""

from mycelia import context as context
from mycelia import ir as ir
from mycelia import nn as nn
from mycelia import ops as ops
from mycelia import runtime as runtime
from mycelia import train as train
from mycelia import transforms as transforms
from mycelia.context import get_context as get_context
from mycelia.context import get_current_device as get_current_device
from mycelia.context import set_context as set_context
from mycelia.context import set_deterministic as set_deterministic
from mycelia.context import set_device as set_device
from mycelia.core import dtype as dtype
from mycelia.core.dtype import bfloat16 as bfloat16
from mycelia.core.dtype import bool_ as bool_
from mycelia.core.dtype import complex64 as complex64
from mycelia.core.dtype import complex128 as complex128
from mycelia.core.dtype import double as double
from mycelia.core.dtype import dtype_to_nptype as dtype_to_nptype
from mycelia.core.dtype import dtype_to_pytype as dtype_to_pytype
from mycelia.core.dtype import float16 as float16
from mycelia.core.dtype import float32 as float32
from mycelia.core.dtype import float64 as float64
from mycelia.core.dtype import half as half
from mycelia.core.dtype import int8 as int8
from mycelia.core.dtype import int16 as int16
from mycelia.core.dtype import int32 as int32
from mycelia.core.dtype import int64 as int64
from mycelia.core.dtype import long as long
from mycelia.core.dtype import pytype_to_dtype as pytype_to_dtype
from mycelia.core.dtype import uint8 as uint8
from mycelia.core.dtype import uint16 as uint16
from mycelia.core.dtype import uint32 as uint32
from mycelia.core.dtype import uint64 as uint64
from mycelia.core.seed import get_seed as get_seed
from mycelia.core.seed import set_seed as set_seed
from mycelia.core.settings import COMPATIBLE as COMPATIBLE
from mycelia.core.settings import GRAPH_MODE as GRAPH_MODE
from mycelia.core.settings import LAX as LAX
from mycelia.core.settings import PYNATIVE_MODE as PYNATIVE_MODE
from mycelia.core.settings import STRICT as STRICT
from mycelia.export import GraphCell as _GraphCell
from mycelia.export import export as export
from mycelia.export import load as load
from mycelia.ir.slot import Slot as _Slot
from mycelia.runtime import allocator as _allocator
from mycelia.runtime.eager.dispatch import dispatch as _dispatch
from mycelia.runtime.xla import cache as _cache
from mycelia.tensor import initializer as initializer
from mycelia.tensor.parameter import Parameter as Parameter
from mycelia.tensor.parameter import ParameterTuple as ParameterTuple
from mycelia.tensor.tensor import Tensor as Tensor
from mycelia.tensor.tensor import is_tensor as is_tensor
from mycelia.tensor.tensor import tensor as tensor
from mycelia.train.checkpoint import load_checkpoint as load_checkpoint
from mycelia.train.checkpoint import load_param_into_net as load_param_into_net
from mycelia.train.checkpoint import save_checkpoint as save_checkpoint
from mycelia.transforms import GradOperation as GradOperation
from mycelia.transforms import JitConfig as JitConfig
from mycelia.transforms import constexpr as constexpr
from mycelia.transforms import data_sink as data_sink
from mycelia.transforms import get_grad as get_grad
from mycelia.transforms import grad as grad
from mycelia.transforms import jacfwd as jacfwd
from mycelia.transforms import jacrev as jacrev
from mycelia.transforms import jit as jit
from mycelia.transforms import jit_class as jit_class
from mycelia.transforms import jvp as jvp
from mycelia.transforms import lazy_inline as lazy_inline
from mycelia.transforms import ms_function as ms_function
from mycelia.transforms import mutable as mutable
from mycelia.transforms import recompute as recompute
from mycelia.transforms import value_and_grad as value_and_grad
from mycelia.transforms import vjp as vjp
from mycelia.transforms import vmap as vmap
from mycelia.transforms.looking import show as _show
from mycelia.transforms.memory import memory_report as _memory_report

_allocator.keep_memory()
_cache.apply()
_Slot.dispatch = staticmethod(_dispatch)  # from here on, calling an operator runs it

from_numpy = Tensor.from_numpy
ms_class = jit_class  # the older name

# MindSpore users also look for these in `ops`, a layer that may not know them itself.
for _name in transforms.__all__:
    setattr(ops, _name, getattr(transforms, _name))
del _name
ops.operations = ops.functional = ops  # type: ignore[attr-defined]  # the names of older scripts
nn.GraphCell = _GraphCell  # type: ignore[attr-defined]
ir.show = _show  # type: ignore[attr-defined]
runtime.memory_report = _memory_report  # type: ignore[attr-defined]
