"""The Cell: the base class of networks and layers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Self

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core import settings
from mycelia._engine.core.checks import check_bool, check_non_negative_int
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.hook_handle import HookHandle
from mycelia._engine.core.keyword_suggestions import check_keywords
from mycelia._engine.core.network_version import note_network_change
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.runtime.eager.thread_mode import thread_mode
from mycelia.nn.cell_call import call_while_traced, call_with_hooks, cast_floats
from mycelia.nn.hooks import CellHooks
from mycelia.nn.state_dict import CellState
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import DEFAULT_NAME, Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.compile_markers import JitConfig
from mycelia.transforms.dynamic_arguments import Buckets, DynamicSignature
from mycelia.transforms.jit import CompiledFunction
from mycelia.transforms.shard import shard


class Cell(CellState):
    """The base class of networks: sub-cells in `__init__`, the computation in `construct`.

    A subclass may define `bprop(self, *inputs, out, dout)` to provide a custom gradient.
    """

    _signature: DynamicSignature | None = None

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        set_plain = object.__setattr__
        set_plain(self, "_params", OrderedDict())
        set_plain(self, "_cells", OrderedDict())
        set_plain(self, "_buffers", {})
        set_plain(self, "_auto_prefix", auto_prefix)
        set_plain(self, "_flags", dict(flags or {}))
        set_plain(self, "training", False)
        set_plain(self, "requires_grad", False)
        set_plain(self, "hooks", None)
        set_plain(self, "compute_dtype", None)
        set_plain(self, "_param_prefix", "")

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if kwargs:
            check_keywords(cls, kwargs)
        return super().__new__(cls)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        raise problem(
            AttributeError,
            "For 'Cell', the method 'construct' is not defined.",
            got=f"the class {type(self).__name__}",
            fix="define construct(self, ...) with the computation",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if handlers.call is not None:
            return call_while_traced(self, args, kwargs)
        is_compiled = (
            settings.current().mode == settings.GRAPH_MODE and thread_mode.recording is None
        )
        try:
            if is_compiled:
                return self._compiled()(*args, **kwargs)
            if self._signature is not None:
                self._signature.check(args, kwargs)
            if self.hooks is None and self.compute_dtype is None and not hasattr(self, "bprop"):
                return self.construct(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            if not is_compiled:
                self._note_itself(error)
            shorten(error)
            raise

    def _compiled(self) -> CompiledFunction:
        """The compiled function of this cell."""
        compiled = self.__dict__.get("_program")
        if compiled is None:
            compiled = CompiledFunction(self, type(self).__name__)
            if self._signature is not None:
                compiled.buckets = Buckets(self._signature)
            object.__setattr__(self, "_program", compiled)
        return compiled

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the program for these arguments, without running it."""
        self._compiled().entry(args, kwargs)

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a compiled program, in any mode."""
        return self._compiled()(*args, **kwargs)

    def cast_inputs(self, inputs: Any, dst_type: DType) -> Any:
        """Cast floating-point inputs to `dst_type`."""
        return cast_floats(inputs, dst_type)

    def run_construct(self, cast_inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `construct` alone, without hooks."""
        return self.construct(*cast_inputs, **kwargs)

    def _note_itself(self, error: Exception) -> None:
        """Add to an error the cell that raised it, unless an inner cell has done so."""
        if not getattr(error, "__notes__", None):
            error.add_note(f"\n  while running {type(self).__name__}({self.extend_repr()})")

    # ---- attributes -------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        note_network_change()
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Cell):
            self._set_cell(name, value)
        elif isinstance(value, ParameterTuple):
            self._set_parameter_tuple(name, value)
        else:
            self._set_other(name, value)

    def __getattr__(self, name: str) -> Any:
        parameters = self.__dict__.get("_params")
        if parameters is not None and name in parameters:
            parameter = parameters[name]
            dtype = self.__dict__["compute_dtype"]
            if dtype is not None and parameter is not None and parameter.dtype.is_float:
                return cast(parameter, dtype)
            return parameter
        raise AttributeError(
            f"The '{type(self).__name__}' object has no attribute '{name}'.", name=name, obj=self
        )

    def __delattr__(self, name: str) -> None:
        note_network_change()
        if name in self._params:
            del self._params[name]
        else:
            self._cells.pop(name, None)
            self._buffers.pop(name, None)
            object.__delattr__(self, name)

    def insert_param_to_cell(
        self, param_name: str, param: Any, check_name_contain_dot: bool = True
    ) -> None:
        """Add `param` to this cell under the name `param_name`."""
        if "_params" not in self.__dict__:
            raise problem(
                AttributeError,
                "For 'insert_param_to_cell', please call Cell.__init__() firstly.",
                fix="call super().__init__() at the start of __init__",
            )
        if not param_name and (param_name is None or isinstance(param_name, str)):
            raise problem(
                KeyError, "insert_param_to_cell: 'param_name' is empty", got=repr(param_name)
            )
        if not isinstance(param_name, str):
            raise wrong_type("insert_param_to_cell", "param_name", param_name, "str")
        if check_name_contain_dot and "." in param_name:
            raise problem(KeyError, "a parameter's name must not contain a dot", got=param_name)
        if param is not None and not isinstance(param, Parameter):
            raise wrong_type("insert_param_to_cell", "param", param, "Parameter")
        if param_name in self.__dict__:
            if isinstance(self.__dict__[param_name], Cell):
                raise self._taken(param_name)
            del self.__dict__[param_name]
        if param is not None and param.has_default_name:
            param.name = self._param_prefix + param_name
        self._params[param_name] = param

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add `child_cell` to this cell; the names of its parameters do not change."""
        if not child_name or "." in child_name:
            raise problem(
                KeyError, "a cell's name must be non-empty, without dots", got=repr(child_name)
            )
        if hasattr(self, child_name) and child_name not in self._cells:
            raise problem(KeyError, f"the name {child_name!r} is already an attribute")
        if child_cell is not None and not isinstance(child_cell, Cell):
            raise wrong_type("insert_child_to_cell", "child_cell", child_cell, "Cell")
        self._cells[child_name] = child_cell
        object.__setattr__(self, child_name, child_cell)

    def _set_cell(self, name: str, value: Cell) -> None:
        if "_cells" not in self.__dict__:
            raise problem(
                AttributeError,
                f"The '{type(self).__name__}' object has no attribute '_auto_prefix'.",
                fix="call super().__init__() at the start of __init__",
            )
        self._params.pop(name, None)
        if self._auto_prefix:
            value.update_parameters_name(name + ".")
        self._cells[name] = value
        object.__setattr__(self, name, value)

    def _set_parameter_tuple(self, name: str, value: ParameterTuple) -> None:
        for parameter in value:
            if parameter.has_default_name:
                parameter.name = self._param_prefix + self._free_default_name()
            self.insert_param_to_cell(parameter.name, parameter, check_name_contain_dot=False)
        object.__setattr__(self, name, value)

    def _free_default_name(self) -> str:
        """A name for an unnamed parameter of a tuple: Parameter$1, Parameter$2, ..."""
        numbers = count(1)
        return next(n for n in (f"{DEFAULT_NAME}${i}" for i in numbers) if n not in self._params)

    def _set_other(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_params" in own and name in own["_params"]:
            self._assign_parameter(name, value)
        elif "_cells" in own and name in own["_cells"] and value is not None:
            raise self._taken(name)
        else:
            if "_cells" in own:
                own["_cells"].pop(name, None)
            object.__setattr__(self, name, value)

    def _assign_parameter(self, name: str, value: Any) -> None:
        """`self.p = tensor` sets the value of the parameter; `self.p = None` removes it."""
        current = self._params[name]
        if value is None and handlers.call is not None:
            raise problem(
                TypeError,
                f"a compiled construct cannot remove the parameter '{name}'",
                fix="set it to None before the network runs",
            )
        if value is None:
            self._params[name] = None
        elif isinstance(value, Tensor) and current is not None:
            current.set_data(value)
        else:
            raise problem(
                TypeError,
                f"Parameter '{name}' already exists in network, can not assign this type",
                got=type(value).__name__,
                expected="a Parameter or a Tensor",
            )

    def _taken(self, name: str) -> TypeError:
        return problem(
            TypeError,
            f"Sub cell '{name}' already exists in network, can not assign this type",
            expected="a Cell or None",
        )

    # ---- modes ------------------------------------------------------------------------------

    def set_train(self, mode: bool = True) -> Self:
        """Switch this cell and all sub-cells between training and inference."""
        note_network_change()
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "training", bool(mode))
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Declare that gradients of this cell will be computed."""
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "requires_grad", requires_grad)
        return self

    def to_float(self, dst_type: DType) -> Self:
        """Compute this cell and all sub-cells in `dst_type`; parameters keep their dtype."""
        if dst_type not in (dtypes.float16, dtypes.float32, dtypes.bfloat16):
            raise problem(
                ValueError,
                "For 'to_float', the argument 'dst_type' must be float32, float16 or bfloat16",
                got=str(dst_type),
            )
        note_network_change()
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "compute_dtype", dst_type)
            cell.add_flags(fp16=dst_type is dtypes.float16, fp32=dst_type is dtypes.float32)
        return self

    def add_flags(self, **flags: Any) -> Self:
        note_network_change()
        self._flags.update(flags)
        for flag, dtype in (("fp16", dtypes.float16), ("fp32", dtypes.float32)):
            if flags.get(flag) is True:
                object.__setattr__(self, "compute_dtype", dtype)
        for name, value in flags.items():
            object.__setattr__(self, name, value)
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        return self._flags

    def set_broadcast_flag(self, mode: bool = True) -> Self:
        """Declare that the parameters should be identical in all processes."""
        return self.add_flags_recursive(broadcast_flag=mode)

    @property
    def jit_config_dict(self) -> dict[str, Any]:
        """The options of `set_jit_config`."""
        return self.__dict__.get("_jit_config", {})

    @property
    def bprop_debug(self) -> bool:
        """For compatibility: the number of gradients that `bprop` returns is always checked."""
        return self.__dict__.get("_bprop_debug", False)

    @bprop_debug.setter
    def bprop_debug(self, value: bool) -> None:
        self.__dict__["_bprop_debug"] = check_bool(type(self).__name__, "bprop_debug", value)

    @property
    def pipeline_stage(self) -> int | None:
        """The pipeline stage of this cell, or None."""
        return self.__dict__.get("_pipeline_stage")

    @pipeline_stage.setter
    def pipeline_stage(self, value: int) -> None:
        note_network_change()
        owner = type(self).__name__
        self.__dict__["_pipeline_stage"] = check_non_negative_int(owner, "pipeline_stage", value)

    @property
    def pipeline_segment(self) -> int | None:
        """The segment of the stage, where the schedule visits stages several times."""
        return self.__dict__.get("_pipeline_segment")

    @pipeline_segment.setter
    def pipeline_segment(self, value: int) -> None:
        note_network_change()
        owner = type(self).__name__
        self.__dict__["_pipeline_segment"] = check_non_negative_int(
            owner, "pipeline_segment", value
        )

    def set_jit_config(self, jit_config: Any) -> None:
        """Store compilation options; MindSpore's optimization levels have no effect here."""
        if not isinstance(jit_config, JitConfig):
            raise wrong_type("set_jit_config", "jit_config", jit_config, "JitConfig")
        self.__dict__["_jit_config"] = dict(jit_config.jit_config_dict)
        self.add_flags(**jit_config.jit_config_dict)

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Describe the arguments of `construct`, by position or by name; None is any size.

        Every call is checked against the description. In graph mode, sizes that are None share
        programs: an argument is padded to a bucket size wherever the results are provably equal.
        """
        object.__setattr__(self, "_signature", DynamicSignature(self.construct, inputs, kwargs))
        self.__dict__.pop("_program", None)

    def get_inputs(self) -> Any:
        """The arguments of `set_inputs`, or None."""
        return None if self._signature is None else self._signature.described

    def recompute(self, **kwargs: Any) -> None:
        """Rematerialize this cell: recompute its intermediate values in the backward pass."""
        for _, cell in self.cells_and_names():
            cell.add_flags(recompute=True)

    def shard(
        self,
        in_strategy: tuple[Any, ...],
        out_strategy: tuple[Any, ...] | None = None,
        parameter_plan: dict[str, Any] | None = None,
        device: str = "Ascend",
        level: int = 0,
    ) -> Callable[..., Any]:
        """This cell as a function with sharded inputs, outputs, and parameters.

        See `mycelia.shard`.
        """
        return shard(self, in_strategy, out_strategy, parameter_plan, device, level)

    def apply(self, fn: Callable[[Cell], Any]) -> Self:
        """Call `fn` on every sub-cell, then on this cell."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    # ---- hooks ------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook_fn(cell, inputs)` before each run; its result, if any, replaces the inputs."""
        return self._hooks().add("forward_pre", hook_fn, prepend, with_kwargs)

    def register_forward_hook(
        self,
        hook_fn: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Call `hook_fn(cell, inputs, output)` after each run; its result replaces the output."""
        return self._hooks().add("forward", hook_fn, prepend, with_kwargs)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call `hook_fn(cell, grad_input, grad_output)` in the backward pass."""
        return self._hooks().add("backward", hook_fn)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call `hook_fn(cell, grad_output)` before the backward pass of this cell."""
        return self._hooks().add("backward_pre", hook_fn)

    def _hooks(self) -> CellHooks:
        note_network_change()
        if self.hooks is None:
            object.__setattr__(self, "hooks", CellHooks())
        return self.hooks

    # ---- printing ---------------------------------------------------------------------------

    def extend_repr(self) -> str:
        """The text between the parentheses in the repr of this cell."""
        return ""

    def __repr__(self) -> str:
        extra = self.extend_repr()
        if not self._cells and "\n" not in extra:
            return f"{type(self).__name__}({extra})"
        lines = [f"{type(self).__name__}("]
        if extra:
            lines.append("  " + extra.replace("\n", "\n  "))
        for name, cell in self._cells.items():
            lines.append(f"  ({name}): " + repr(cell).replace("\n", "\n  "))
        return "\n".join([*lines, ")"])

    @property
    def cls_name(self) -> str:
        return type(self).__name__

    def __iter__(self) -> Iterator[Any]:
        raise problem(TypeError, f"'{type(self).__name__}' object is not iterable")
