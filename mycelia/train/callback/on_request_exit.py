"""The OnRequestExit callback: save and exit on request, to resume later."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.files.text_files import json_value
from mycelia._engine.core.warn_once import logger
from mycelia.export.mindir import export
from mycelia.train.callback.callback import Callback
from mycelia.train.callback.run_checkpoint import save_run
from mycelia.train.checkpoint import save_checkpoint


class OnRequestExit(Callback):
    """Stops training or evaluation after the current step on the signal `sig`.

    Alternatively, write `{"GracefulExit": 1}` to the JSON file `config_file`. When the run stops,
    the network is saved as `directory/rank_0/<file_name>_train.ckpt` and `.mindir` (`_eval` for
    evaluation). The next training run resumes from this file, and removes it on completion.
    Signals are received in the main thread only.
    """

    only_reads_results = True  # it only requests the stop, and saves after that

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = True,
        file_name: str = "Net",
        directory: str = "./",
        config_file: str | None = None,
        sig: int = signal.SIGTERM,
    ) -> None:
        super().__init__()
        self.save_ckpt = _checked("save_ckpt", save_ckpt, bool)
        self.save_mindir = _checked("save_mindir", save_mindir, bool)
        self.sig = _checked("sig", sig, int)
        if self.sig == signal.SIGKILL:
            raise problem(
                ValueError,
                "OnRequestExit: SIGKILL cannot be handled",
                fix="choose another signal, such as signal.SIGTERM",
            )
        folder = Path(_checked("directory", directory, str)).resolve() / "rank_0"
        name = _checked("file_name", file_name, str)
        self.train_name = str(folder / f"{name}_train")
        self.eval_name = str(folder / f"{name}_eval")
        self.config_file = config_file
        self.exit = False
        self._resumed = self._has_saved = False
        self._before: Any = None  # the previous signal handler

    def __exit__(self, *error: Any) -> None:
        """Restore the previous signal handler."""
        if self._before is not None:
            signal.signal(self.sig, self._before)
            self._before = None

    def resumes_from(self) -> Path | None:
        path = Path(f"{self.train_name}.ckpt")
        return path if self.save_ckpt and path.is_file() else None

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        self._resumed = True

    def on_train_begin(self, run_context: Any) -> None:
        self.exit = self._resumed = self._has_saved = False
        self._listen()

    def on_train_step_end(self, run_context: Any) -> None:
        self._stop_if_asked(run_context)

    def on_train_interrupted(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if not self.exit:
            return
        if self.save_ckpt:
            save_run("OnRequestExit", facts, Path(f"{self.train_name}.ckpt"))
        if self.save_mindir:
            self._export(self.train_name, facts.train_network, facts.train_dataset_element)
        self._has_saved = True

    def on_train_end(self, run_context: Any) -> None:
        if self.exit and not self._has_saved:
            self.on_train_interrupted(run_context)
        elif self._resumed and not self.exit:
            Path(f"{self.train_name}.ckpt").unlink(missing_ok=True)

    def on_eval_begin(self, run_context: Any) -> None:
        self._listen()

    def on_eval_step_end(self, run_context: Any) -> None:
        if not _is_in_training(run_context):  # training stops at its own step, after the evaluation
            self._stop_if_asked(run_context)

    def on_eval_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if not self.exit or _is_in_training(run_context):
            return
        if self.save_ckpt:
            save_checkpoint(facts.eval_network, f"{self.eval_name}.ckpt")
        if self.save_mindir:
            self._export(self.eval_name, facts.eval_network, facts.eval_dataset_element)

    def _listen(self) -> None:
        if self._before is not None:
            return
        if threading.current_thread() is not threading.main_thread():
            logger.warning(
                "OnRequestExit cannot receive signals outside the main thread. "
                "Run there, or request the exit with config_file"
            )
            return
        before = signal.signal(self.sig, self._hear)
        self._before = signal.SIG_DFL if before is None else before

    def _hear(self, signum: int, frame: Any) -> None:
        self.exit = True

    def _stop_if_asked(self, run_context: Any) -> None:
        self.exit = self.exit or self._asked_in_file()
        if self.exit:
            run_context.request_stop()

    def _asked_in_file(self) -> bool:
        if self.config_file is None or not Path(self.config_file).is_file():
            return False
        try:
            request = json_value(Path(self.config_file).read_bytes())
        except (OSError, ValueError) as error:
            logger.warning("%s cannot be read (yet): %s", self.config_file, error)
            return False
        return isinstance(request, dict) and request.get("GracefulExit") == 1

    def _export(self, name: str, network: Any, inputs: Any) -> None:
        try:
            export(network, *inputs, file_name=f"{name}.mindir")
        except OSError as error:
            logger.error("OnRequestExit: %s.mindir was not saved: %s", name, error)


def _is_in_training(run_context: Any) -> bool:
    return "train_network" in run_context.original_args()


def _checked(argument: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise wrong_value("OnRequestExit", argument, value, f"a {kind.__name__}")
    return value
