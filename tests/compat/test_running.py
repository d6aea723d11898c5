"""Scripts run through `mycelia run` and `python -m mycelia.compat`."""

import subprocess
import sys

import pytest


@pytest.fixture
def script(tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n")
    path = tmp_path / "script.py"
    path.write_text(
        "import sys\n"
        "import beside\n"
        "import mindspore as ms\n"
        "from mindspore.ops import operations as P\n"
        "print(beside.WORD, P.Add()(ms.Tensor([1.0]), ms.Tensor([2.0])), *sys.argv[1:], __name__)\n"
        "sys.exit(3)\n"
    )
    return path


@pytest.mark.parametrize("command", [("mycelia.cli", "run"), ("mycelia.compat",)])
def test_script(script, command):
    module, *words = command
    start = (
        [sys.executable, "-m", module] if module != "mycelia.cli" else [sys.executable, "-c", RUN]
    )
    run = subprocess.run(
        [*start, *words, str(script), "--flag", "1"], capture_output=True, text=True, check=False
    )
    assert run.stdout.split() == ["beside", "[3.]", "--flag", "1", "__main__"], run.stderr
    assert run.returncode == 3


RUN = "import sys; from mycelia.cli import main; sys.exit(main())"


def test_no_such_script(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "mycelia.compat", str(tmp_path / "none.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1 and "no such file" in run.stderr
