"""The `mycelia` command."""

from __future__ import annotations

import pytest

from mycelia import cli


def test_info_names_versions_and_devices(capsys):
    assert cli.main(["info"]) == 0
    shown = capsys.readouterr().out
    assert "mycelia" in shown and "jax" in shown and "CPU" in shown


def test_help_and_mistakes(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["--help"])
    assert left.value.code == 0 and "info" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        cli.main(["nonsense"])
    assert left.value.code == 2
