"""Numbers of devices that do not divide well."""

from __future__ import annotations

from pathlib import Path

import pytest

from mycelia._engine.parallel.pipeline.devices import stage_sizes
from tests.parallel.pipeline.running import checks, run_checks
from tests.parallel.pipeline.test_processes import job

GROUP = ("uneven",)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return run_checks(*GROUP)


@pytest.mark.slow
@pytest.mark.parametrize("name", checks(*GROUP))
def test_on_eight_devices(found: dict[str, str], name: str) -> None:
    assert found[name] == "passed", found[name]


def test_all_devices_are_used() -> None:
    assert stage_sizes(2, 7) == [4, 3]
    assert stage_sizes(3, 7) == [3, 2, 2]
    assert stage_sizes(4, 6) == [2, 2, 1, 1]
    assert stage_sizes(2, 8) == [4, 4]


@pytest.mark.parametrize(
    ("stages", "devices", "names"),
    [
        pytest.param(2, 7, "mlp_of_rows", marks=pytest.mark.slow),
        pytest.param(2, 7, "mlp gpt mlp_gpipe clipping", marks=pytest.mark.slow),
        pytest.param(3, 7, "mlp mlp_of_rows gpt", marks=pytest.mark.slow),
        pytest.param(4, 6, "mlp mlp_of_rows gpt", marks=pytest.mark.slow),
    ],
)
def test_stages_of_unequal_size(tmp_path: Path, stages: int, devices: int, names: str) -> None:
    """`mlp` and `mlp_of_rows` fail unless parameters lie on all devices."""
    options = f"--virtual {devices}"
    code, output, errors = job(tmp_path, options, stages, devices, *names.split()).end()
    assert code == 0, output + errors
    assert output.count("passed") == len(names.split())
