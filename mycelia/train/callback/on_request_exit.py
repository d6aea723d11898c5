"""Ending a run on request, with what is needed to go on later."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from mycelia.core.errors import problem, wrong_value
from mycelia.core.logs import logger
from mycelia.export.mindir import export
from mycelia.train.callback.callback import Callback
from mycelia.train.checkpoint import load_checkpoint, save_checkpoint


class OnRequestExit(Callback):
    """Ends training or evaluation after the current step when the signal `sig` comes.

    The other way to ask is the JSON file `config_file` with `{"GracefulExit": 1}`. At the end the
    network is saved as `directory/rank_0/<file_name>_train.ckpt` and `.mindir` (`_eval` for
    evaluation). A training begins with the parameters such a file holds.
    """

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
                "OnRequestExit: no program hears SIGKILL",
                fix="choose another signal, such as signal.SIGTERM",
            )
        folder = Path(_checked("directory", directory, str)).resolve() / "rank_0"
        name = _checked("file_name", file_name, str)
        self.train_name = str(folder / f"{name}_train")
        self.eval_name = str(folder / f"{name}_eval")
        self.config_file = config_file
        self.exit = False

    def on_train_begin(self, run_context: Any) -> None:
        self._listen()
        if self.save_ckpt and Path(f"{self.train_name}.ckpt").is_file():
            facts = run_context.original_args()
            load_checkpoint(f"{self.train_name}.ckpt", facts.train_network)

    def on_train_step_end(self, run_context: Any) -> None:
        self._stop_if_asked(run_context)

    def on_train_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if self.exit:
            inputs = facts.train_dataset_element
            self._save(self.train_name, facts.train_network, inputs)

    def on_eval_begin(self, run_context: Any) -> None:
        self._listen()

    def on_eval_step_end(self, run_context: Any) -> None:
        self._stop_if_asked(run_context)

    def on_eval_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if self.exit:
            self._save(self.eval_name, facts.eval_network, facts.eval_dataset_element)

    def _listen(self) -> None:
        signal.signal(self.sig, self._hear)

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
            found = json.loads(Path(self.config_file).read_text())
        except json.JSONDecodeError as error:
            logger.warning("%s is no JSON (yet): %s", self.config_file, error)
            return False
        return found.get("GracefulExit") == 1

    def _save(self, name: str, network: Any, inputs: Any) -> None:
        if self.save_ckpt:
            save_checkpoint(network, f"{name}.ckpt")
        if self.save_mindir:
            export(network, *inputs, file_name=f"{name}.mindir")


def _checked(argument: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise wrong_value("OnRequestExit", argument, value, f"a {kind.__name__}")
    return value
