"""AutoBoost: the boost algorithms of this process."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.warn_once import warn_once
from mycelia.boost.grad_freeze import GradientFreeze
from mycelia.boost.less_batch_normalization import LessBN
from mycelia.boost.optimizer_process import OptimizerProcess
from mycelia.boost.parameter_process import ParameterProcess

_WAYS = ("less_bn", "grad_freeze", "adasum", "grad_accumulation", "dim_reduce", "loss_scale_group")
_MODES = ("auto", "manual", "enable_all", "disable_all")
_WAYS_OF_LEVEL = {
    "O1": ("less_bn", "grad_freeze"),
    "O2": ("less_bn", "grad_freeze", "adasum"),
}

# The user settings by section: the attribute that stores each, and its default.
_SETTINGS: dict[str, dict[str, tuple[str, Any]]] = {
    "common": {
        "gradient_split_groups": ("gradient_groups", None),
        "device_number": ("device_number", 8),
    },
    "less_bn": {"fn_flag": ("fn_flag", True), "gc_flag": ("gc_flag", True)},
    "grad_freeze": {
        "param_groups": ("param_groups", 10),
        "freeze_type": ("freeze_type", 1),
        "freeze_p": ("freeze_p", 0.7),
        "total_steps": ("total_steps", 65536),
    },
    "grad_accumulation": {"grad_accumulation_step": ("grad_accumulation_step", 1)},
    "dim_reduce": {
        "rho": ("rho", 0.55),
        "gamma": ("gamma", 0.9),
        "alpha": ("alpha", 0.001),
        "sigma": ("sigma", 0.4),
        "n_components": ("n_components", 32),
        "pca_mat_path": ("pca_mat_path", None),
        "weight_load_dir": ("weight_load_dir", None),
        "timeout": ("timeout", 1800),
    },
}


class AutoBoost:
    """The boost algorithms of a level or a configuration, with their settings as attributes.

    AutoBoost is a singleton: the first call creates it, and later calls return it unchanged.
    """

    _instance: AutoBoost | None = None

    level: str
    boost_config_dict: Any
    boost_config: dict[str, bool]
    gradient_groups: list[int] | None
    device_number: int
    fn_flag: bool
    gc_flag: bool
    param_groups: int
    freeze_type: int
    freeze_p: float
    total_steps: int
    grad_accumulation_step: int

    def __new__(cls, level: str = "O0", boost_config_dict: Any = "") -> AutoBoost:
        if cls._instance is None:
            instance = super().__new__(cls)
            instance._configure(level, boost_config_dict)
            cls._instance = instance
        return cls._instance

    def _configure(self, level: str, config: Any) -> None:
        sections = _checked_sections(config)
        self.level = level
        self.boost_config_dict = config
        self.boost_config = _chosen_ways(level, sections.get("boost", {}))
        for section, settings in _SETTINGS.items():
            values = sections.get(section, {})
            for key, (attribute, default) in settings.items():
                setattr(self, attribute, values.get(key, default))
        self.gradient_groups = _as_starts(self.gradient_groups)
        self._parameter_process = ParameterProcess()

    def network_auto_process_train(self, network: Any, optimizer: Any) -> tuple[Any, Any]:
        """The network and the optimizer, modified by the chosen algorithms."""
        if self.boost_config["dim_reduce"]:
            raise problem(
                NotImplementedError,
                "AutoBoost: 'dim_reduce' is not supported",
                fix="leave it out of the configuration",
            )
        if self.boost_config["less_bn"]:
            network, optimizer = self._with_less_bn(network, optimizer)
        if self.boost_config["grad_freeze"]:
            freeze = GradientFreeze(
                self.param_groups, self.freeze_type, self.freeze_p, self.total_steps
            )
            network, optimizer = freeze.freeze_generate(network, optimizer)
        return network, optimizer

    def network_auto_process_eval(self, network: Any) -> Any:
        """The network for evaluation, modified as for training."""
        if self.boost_config["less_bn"] and not self.boost_config["dim_reduce"]:
            return LessBN(network, self.fn_flag)
        return network

    def _with_less_bn(self, network: Any, optimizer: Any) -> tuple[Any, Any]:
        """A LessBN, and a new optimizer for its parameters."""
        network = LessBN(network, self.fn_flag)
        parameters = self._parameter_process.assign_parameter_group(
            network.trainable_params(), self.gradient_groups
        )
        process = OptimizerProcess(optimizer)
        process.origin_params = ParameterProcess.generate_group_params(
            parameters, process.origin_params
        )
        if self.gc_flag:
            process.add_grad_centralization(network)
        return network, process.generate_new_optimizer()


def _chosen_ways(level: str, given: dict[str, Any]) -> dict[str, bool]:
    """Whether each algorithm is enabled, by the level or by the user's mode."""
    mode = given.get("mode", "auto")
    if mode not in _MODES:
        raise problem(
            ValueError,
            "AutoBoost: unknown mode",
            got=repr(mode),
            expected=f"one of {', '.join(_MODES)}",
        )
    if mode in ("enable_all", "disable_all"):
        return dict.fromkeys(_WAYS, mode == "enable_all")
    of_level = _WAYS_OF_LEVEL.get(level, ())
    overruled = given if mode == "manual" else {}
    return {way: bool(overruled.get(way, way in of_level)) for way in _WAYS}


def _checked_sections(config: Any) -> dict[str, dict[str, Any]]:
    """Check the configuration, a dict of dicts; unknown names are warned about."""
    if not config:
        return {}
    if not isinstance(config, dict):
        raise wrong_type("AutoBoost", "boost_config_dict", config, "dict")
    known = {"boost": ("mode", *_WAYS), **_SETTINGS}
    for section, given in config.items():
        if section not in known:
            warn_once(f"AutoBoost: unknown section {section!r}")
            continue
        if not isinstance(given, dict):
            raise wrong_type("AutoBoost", f"boost_config_dict[{section!r}]", given, "dict")
        for key in given:
            if key not in known[section]:
                warn_once(f"AutoBoost: the section {section!r} has no setting {key!r}")
    return config


def _as_starts(given: Any) -> list[int] | None:
    """The indices where parts of the parameters begin, or None for the default."""
    if given is None:
        return None
    starts = [given] if is_int(given) else given
    if not isinstance(starts, (tuple, list)) or not all(is_int(start) for start in starts):
        raise problem(
            ValueError,
            "AutoBoost: 'gradient_split_groups' must list the indices where parts begin",
            got=repr(given),
            expected="an int or a list of ints",
        )
    return list(starts)
