"""AutoParallel: a network with separate parallel settings."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode, ScopedSettings
from mycelia._engine.ir.handlers import call_user_function, handlers
from mycelia._engine.runtime.eager.thread_mode import thread_mode
from mycelia.nn.cell import Cell
from mycelia.transforms.jit import CompiledFunction, Specialization

_MODES = {
    "semi_auto": {"parallel_mode": ParallelMode.SEMI_AUTO_PARALLEL},
    "sharding_propagation": {
        "parallel_mode": ParallelMode.AUTO_PARALLEL,
        "search_mode": "sharding_propagation",
    },
    "recursive_programming": {
        "parallel_mode": ParallelMode.AUTO_PARALLEL,
        "search_mode": "recursive_programming",
    },
}


class AutoParallel(Cell):
    """Runs `network`, a cell or a function, as one program on all devices.

    It must be the outermost cell: around a whole training step, or around the network passed to
    `Model`, which then inserts its training step. Its settings are separate: they start from the
    defaults of `set_auto_parallel_context` and do not affect other programs.
    """

    def __init__(self, network: Any, parallel_mode: str = "semi_auto") -> None:
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise wrong_type("AutoParallel", "network", network, "a Cell or a function")
        if parallel_mode not in _MODES:
            raise wrong_value(
                "AutoParallel", "parallel_mode", parallel_mode, f"one of {', '.join(_MODES)}"
            )
        self.network = network
        self._settings = ScopedSettings()
        self._settings.change(**_MODES[parallel_mode])

    def around(self, network: Any) -> AutoParallel:
        """Wrap another network with the same settings, including later changes to them."""
        wrapper = AutoParallel(network)
        wrapper._settings = self._settings
        return wrapper

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        if handlers.call is not None and not self._settings.are_in_force():
            raise problem(
                RuntimeError,
                "AutoParallel must be the outermost cell",
                got=f"AutoParallel({type(self.network).__name__}), called inside another program",
                fix="wrap the whole step: AutoParallel(nn.TrainOneStepCell(net, optimizer))",
            )
        return call_user_function(self.network, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if handlers.call is not None or thread_mode.recording is not None:
            return super().__call__(*args, **kwargs)
        return self._compiled()(*args, **kwargs)

    def _compiled(self) -> CompiledFunction:
        compiled = self.__dict__.get("_program")
        if compiled is None:
            compiled = _AutoParallelFunction(self, type(self).__name__)
            object.__setattr__(self, "_program", compiled)
        return compiled

    # ---- settings ---------------------------------------------------------------------------

    def dataset_strategy(self, config: Any) -> None:
        """How input data is sharded: "data_parallel", "full_batch", or a strategy per argument."""
        self._settings.change(dataset_strategy=config)

    def hsdp(
        self, shard_size: int = -1, threshold: int = 64, optimizer_level: str = "level1"
    ) -> None:
        """Shard optimizer states of parameters from `threshold` KB over `shard_size` devices."""
        config = {"parallel_optimizer_threshold": threshold, "optimizer_level": optimizer_level}
        self._settings.change(
            enable_parallel_optimizer=True,
            parallel_optimizer_config=config | {"optimizer_weight_shard_size": shard_size},
        )

    def pipeline(
        self,
        stages: int = 1,
        output_broadcast: bool = False,
        interleave: bool = False,
        scheduler: str = "1f1b",
    ) -> None:
        """Run training steps of a `Pipeline` cell in pipeline stages."""
        self._settings.change(
            pipeline_stages=stages,
            pipeline_result_broadcast=output_broadcast,
            pipeline_config={"pipeline_interleave": interleave, "pipeline_scheduler": scheduler},
        )

    def comm_fusion(self, config: dict[str, Any]) -> None:
        """Set which collectives are fused; XLA fuses them automatically in any case."""
        self._settings.change(comm_fusion=config)

    def load_operator_strategy_file(self, file_path: str) -> None:
        """Use the layouts from a file of saved plans."""
        self._settings.change(strategy_ckpt_load_file=file_path)

    def save_operator_strategy_file(self, file_path: str) -> None:
        """Write the plans of all programs to a file."""
        self._settings.change(strategy_ckpt_save_file=file_path)

    def load_param_strategy_file(self, file_path: str) -> None:
        """The same as `load_operator_strategy_file`: plans include parameter layouts."""
        self.load_operator_strategy_file(file_path)

    def save_param_strategy_file(self, file_path: str) -> None:
        """The same as `save_operator_strategy_file`: plans include parameter layouts."""
        self.save_operator_strategy_file(file_path)

    def disable_strategy_file_only_for_trainable_params(self) -> None:
        """For compatibility: plans always include all parameters."""

    def set_group_ckpt_save_file(self, file_path: str) -> None:
        """For compatibility: checkpoints contain whole tensors, and need no groups."""
        self._settings.change(group_ckpt_save_file=file_path)

    def enable_fp32_communication(self) -> None:
        """Sum gradients in float32 (the default is the dtype of the operands)."""
        self._settings.change(force_fp32_communication=True)

    def no_init_parameters_in_compile(self) -> None:
        """For compatibility: parameters are initialized when they are created."""
        self._settings.change(init_param_in_compile=False)

    def transformer_opt(self, file_path: str | None) -> None:
        """For compatibility with scripts that set an optimization file of MindSpore's compiler."""
        if file_path is not None and not isinstance(file_path, str):
            raise wrong_type("AutoParallel.transformer_opt", "file_path", file_path, "str or None")

    def print_local_norm(self) -> None:
        """Not supported: training steps cannot print the norms of single devices."""
        raise problem(
            NotImplementedError,
            "AutoParallel.print_local_norm: norms of single devices are not supported",
            fix="print the norm in the training step: ops.print_(ops.norm(gradient))",
        )


class _AutoParallelFunction(CompiledFunction):
    """The programs of an AutoParallel cell, compiled with its settings."""

    def entry(self, args: Any, kwargs: Any) -> Specialization:
        with self.fn._settings.in_force():  # type: ignore[attr-defined]
            return super().entry(args, kwargs)
