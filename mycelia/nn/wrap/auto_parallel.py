"""A network with parallel settings of its own: AutoParallel."""

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
    """`network`, a cell or a function, as one program over all devices.

    It is the outermost cell: around a whole training step, or around the network that `Model` is
    given, which then puts its training step inside. Its settings are its own: they start from the
    defaults of `set_auto_parallel_context`, and no other program sees them.
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
        """Another network with the same settings, those that are made later included."""
        made = AutoParallel(network)
        made._settings = self._settings
        return made

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        if handlers.call is not None and not self._settings.are_in_force():
            raise problem(
                RuntimeError,
                "AutoParallel is inside of another program",
                got=f"AutoParallel({type(self.network).__name__}), called while another is read",
                fix="make it the outermost cell: AutoParallel(nn.TrainOneStepCell(net, optimizer))",
            )
        return call_user_function(self.network, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if handlers.call is not None or thread_mode.recording is not None:
            return super().__call__(*args, **kwargs)
        return self._compiled()(*args, **kwargs)

    def _compiled(self) -> CompiledFunction:
        found = self.__dict__.get("_program")
        if found is None:
            found = _AutoParallelFunction(self, type(self).__name__)
            object.__setattr__(self, "_program", found)
        return found

    # ---- settings ---------------------------------------------------------------------------

    def dataset_strategy(self, config: Any) -> None:
        """How data comes cut: "data_parallel", "full_batch", or a strategy for each argument."""
        self._settings.change(dataset_strategy=config)

    def hsdp(
        self, shard_size: int = -1, threshold: int = 64, optimizer_level: str = "level1"
    ) -> None:
        """Share the optimizer's work out, for parameters from `threshold` KB, by `shard_size`."""
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
        """Run training steps of a `Pipeline` cell in stages."""
        self._settings.change(
            pipeline_stages=stages,
            pipeline_result_broadcast=output_broadcast,
            pipeline_config={"pipeline_interleave": interleave, "pipeline_scheduler": scheduler},
        )

    def comm_fusion(self, config: dict[str, Any]) -> None:
        """Which collectives are made one; XLA joins them by itself, whatever is said here."""
        self._settings.change(comm_fusion=config)

    def load_operator_strategy_file(self, file_path: str) -> None:
        """Lay programs out as the plans of a file say."""
        self._settings.change(strategy_ckpt_load_file=file_path)

    def save_operator_strategy_file(self, file_path: str) -> None:
        """Write the plans of all programs to a file."""
        self._settings.change(strategy_ckpt_save_file=file_path)

    def load_param_strategy_file(self, file_path: str) -> None:
        """The same as `load_operator_strategy_file`: a plan says where parameters lie, too."""
        self.load_operator_strategy_file(file_path)

    def save_param_strategy_file(self, file_path: str) -> None:
        """The same as `save_operator_strategy_file`: a plan says where parameters lie, too."""
        self.save_operator_strategy_file(file_path)

    def disable_strategy_file_only_for_trainable_params(self) -> None:
        """Kept for scripts that call it: plans always hold all parameters."""

    def set_group_ckpt_save_file(self, file_path: str) -> None:
        """Kept for scripts that set it: checkpoints hold whole tensors, and need no groups."""
        self._settings.change(group_ckpt_save_file=file_path)

    def enable_fp32_communication(self) -> None:
        """Sum gradients in float32; sums between devices have the dtype of their operands."""
        self._settings.change(force_fp32_communication=True)

    def no_init_parameters_in_compile(self) -> None:
        """Kept for scripts that call it: parameters have their numbers from the start."""
        self._settings.change(init_param_in_compile=False)

    def transformer_opt(self, file_path: str | None) -> None:
        """Kept for scripts that give a file of speed-ups for another compiler."""
        if file_path is not None and not isinstance(file_path, str):
            raise wrong_type("AutoParallel.transformer_opt", "file_path", file_path, "str or None")

    def print_local_norm(self) -> None:
        """Refused: no step prints the norms of single devices."""
        raise problem(
            NotImplementedError,
            "AutoParallel.print_local_norm: norms of single devices are not printed",
            fix="print the norm in the training step: ops.print_(ops.norm(gradient))",
        )


class _AutoParallelFunction(CompiledFunction):
    """The programs of an AutoParallel cell: they are made under its settings."""

    def entry(self, args: Any, kwargs: Any) -> Specialization:
        with self.fn._settings.in_force():  # type: ignore[attr-defined]
            return super().entry(args, kwargs)
