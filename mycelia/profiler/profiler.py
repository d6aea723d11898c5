"""The profilers: Profiler and profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

from mycelia import log
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.profiler.options import ProfilerActivity, _ExperimentalConfig
from mycelia.profiler.recorder import OPERATOR, PROGRAM, Recorder
from mycelia.profiler.report import analyse_files, summarized, write_spans
from mycelia.profiler.schedule import ProfilerAction

_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class _ProfilerBase(CheckedKeywords):
    """The base of profilers: measures manually, or the steps of a schedule."""

    def __init__(
        self, output_path: str, schedule: Any, on_trace_ready: Any, start_profile: bool
    ) -> None:
        self._output = Path(output_path)
        self._schedule = schedule
        self._on_trace_ready = on_trace_ready
        self._metadata: dict[str, Any] = {}
        self._recorder = Recorder()
        self._step = 0
        if start_profile:
            self.start()

    def start(self) -> None:
        """Start measuring."""
        if self._recorder.running:
            log.warning("the profiler is already running")
        elif self._schedule is None or self._schedule(self._step) in _RECORDS:
            self._recorder.start()

    def stop(self) -> None:
        """Stop measuring, and save the measurements."""
        if self._recorder.running:
            self._save()
        elif self._schedule is None:
            log.error("the profiler is not running, so it cannot be stopped")

    def step(self) -> None:
        """Mark the end of a training step; the schedule decides whether to measure the next."""
        if self._schedule is None:
            if self._recorder.running:
                self._recorder.next_step()
            return
        action = self._schedule(self._step)
        self._step += 1
        if action is ProfilerAction.RECORD_AND_SAVE and self._recorder.running:
            self._save()
        elif self._recorder.running:
            self._recorder.next_step()
        if not self._recorder.running and self._schedule(self._step) in _RECORDS:
            self._recorder = Recorder(step=self._step)
            self._recorder.start()

    def add_metadata(self, key: str, value: str) -> None:
        """Add a string to the results."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add JSON to the results."""
        self._metadata[key] = json.loads(value)

    def _save(self) -> None:
        self._recorder.stop()
        write_spans(self._output, self._recorder.spans, self._metadata)
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def __enter__(self) -> Self:
        self._start_if_idle()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._recorder.running:
            self.stop()

    def _start_if_idle(self) -> None:
        if not self._recorder.running:
            self.start()


class Profiler(_ProfilerBase):
    """Measures eager operators, compiled programs, and steps until `stop`.

    Results are written to `output_path` ("./data"); with `start_profile=False`, it waits for
    `start`. `schedule` and `on_trace_ready` are as in `profile`. Other options are for hardware
    that is not available, and have no effect. While measuring, each operator waits for its result.
    """

    def __init__(self, **kwargs: Any) -> None:
        path = kwargs.get("output_path", "./data")
        if not isinstance(path, str):
            log.warning("Profiler: output_path must be a str, got %r; ./data is used", path)
            path = "./data"
        super().__init__(
            path,
            kwargs.get("schedule"),
            kwargs.get("on_trace_ready"),
            kwargs.get("start_profile", True),
        )

    def analyse(
        self,
        offline_path: str | None = None,
        pretty: bool = False,
        step_list: list[int] | None = None,
        mode: str = "sync",
    ) -> None:
        """Write sums by operator, program, and step, and a trace, next to the measurements."""
        if mode not in ("sync", "async"):
            raise problem(
                ValueError, "analyse: unknown mode", got=repr(mode), expected="sync, async"
            )
        if self._recorder.running:
            self.stop()
        analyse_files(Path(offline_path) if offline_path else self._output, pretty, step_list)

    @staticmethod
    def offline_analyse(
        path: str,
        pretty: bool = False,
        step_list: list[int] | None = None,
        data_simplification: bool = True,
    ) -> None:
        """Analyze the measurements of an earlier run."""
        analyse_files(Path(path), pretty, step_list)

    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str:
        """The times of operators and programs by name, as JSON."""
        names = [op_name] if isinstance(op_name, str) else op_name
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise wrong_type("op_analyse", "op_name", op_name, "str or list of str")
        found = summarized([s for s in self._recorder.spans if s.kind in (OPERATOR, PROGRAM)])
        rows = {row["name"]: row for row in (*found["programs"], *found["operators"])}
        return json.dumps({name: rows[name] for name in names if name in rows})


class profile(_ProfilerBase):
    """Measures a run on the CPU: `with profile(...) as prof`, with `prof.step()` after each step.

    `schedule` selects steps; `on_trace_ready` is called with the profile when it has been saved,
    for example the result of `tensorboard_trace_handler`. `activities`, if given, must include the
    CPU. Other options, and the settings of `experimental_config`, have no effect.
    """

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        start_profile: bool = True,
        hbm_ddr: bool = False,
        pcie: bool = False,
        sync_enable: bool = True,
        record_shapes: bool = False,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        experimental_config: _ExperimentalConfig | None = None,
    ) -> None:
        if activities is not None and ProfilerActivity.CPU not in list(activities):
            raise problem(ValueError, "profile: only ProfilerActivity.CPU is supported")
        super().__init__("./data", schedule, on_trace_ready, start_profile)


def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[_ProfilerBase], None]:
    """A handler for `on_trace_ready` that writes results to `dir_name`, under `worker_name`."""

    def write(done: _ProfilerBase) -> None:
        folder = Path(dir_name or "./data")
        folder = folder / worker_name if worker_name else folder
        write_spans(folder, done._recorder.spans, done._metadata)
        if analyse_flag:
            analyse_files(folder, pretty=False, step_list=None)

    return write


def analyse(
    profiler_path: str,
    max_process_number: int = 1,
    pretty: bool = False,
    step_list: list[int] | None = None,
    data_simplification: bool = True,
) -> None:
    """Analyze the measurements of an earlier run."""
    analyse_files(Path(profiler_path), pretty, step_list)
