"""What goes wrong in a run: bad files, dead processes, a full disk. It is named, never hangs."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import vision
from mycelia.dataset.runtime.run_metrics import RunMetrics

pytestmark = pytest.mark.usefixtures("seeded")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as functions of a script are


def pictures(folder: Path) -> ds.Dataset:
    rows = ds.ImageFolderDataset(str(folder), shuffle=False, num_parallel_workers=2)
    return rows.map([vision.Decode(), vision.Resize((8, 8))], "image", num_parallel_workers=2)


def labels(dataset: ds.Dataset) -> list[int]:
    rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [int(label) for row in rows for label in np.atleast_1d(row["label"])]


@pytest.fixture
def damaged(image_folder: Path) -> Path:
    """One file in a hundred is cut short, or filled with other bytes."""
    (image_folder / "class1" / "101.jpg").write_bytes(b"no picture at all")
    path = image_folder / "class3" / "003.jpg"
    path.write_bytes(path.read_bytes()[:200])
    return image_folder


def test_a_corrupt_image_ends_the_epoch_with_its_name(damaged: Path):
    with pytest.raises(RuntimeError, match=r"'Decode' failed on row \d+ .*101.jpg"):
        labels(pictures(damaged).batch(16))


@pytest.mark.parametrize("workers", [1, 4])
def test_corrupt_images_are_skipped_and_counted(damaged: Path, workers: int, caplog):
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    ds.config.set_num_parallel_workers(workers)
    found = labels(pictures(damaged).batch(16))
    assert len(found) == 198
    assert (found.count(1), found.count(3)) == (49, 49)
    assert "2 rows failed in epoch 0 and were skipped" in caplog.text


def test_corrupt_images_are_replaced_and_counted(damaged: Path, caplog):
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
    assert len(labels(pictures(damaged).batch(16))) == 200
    assert "2 rows failed in epoch 0 and were replaced" in caplog.text


def slowly(x):
    time.sleep(0.02)
    return x + 1, np.array(os.getpid())


def in_processes(workers: int = 2) -> ds.Dataset:
    rows = ds.NumpySlicesDataset({"x": np.arange(60)}, shuffle=False)
    return rows.map(
        slowly,
        "x",
        ["x", "pid"],
        num_parallel_workers=workers,
        python_multiprocessing=True,
    )


def test_functions_run_in_other_processes():
    rows = list(in_processes().create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [int(x) for x, _ in rows] == list(range(1, 61))
    pids = {int(pid) for _, pid in rows}
    assert os.getpid() not in pids and len(pids) == 2
    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_a_killed_process_is_replaced():
    iterator = in_processes().create_tuple_iterator(num_epochs=1, output_numpy=True)
    x, pid = next(iterator)
    os.kill(int(pid), signal.SIGKILL)
    rest = list(iterator)
    assert [int(x), *(int(x) for x, _ in rest)] == list(range(1, 61))


def dies(x):
    os._exit(7)


def test_a_process_that_always_dies_ends_the_epoch():
    rows = ds.NumpySlicesDataset({"x": np.arange(4)}, shuffle=False)
    data = rows.map(dies, "x", python_multiprocessing=True)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"(?s)'dies' failed on row 0 .*exit code 7"):
        list(data.create_tuple_iterator(num_epochs=1))
    assert time.monotonic() - began < 20


def fails(x):
    return 1 // (5 - int(x))


def test_an_error_in_another_process_names_the_row_and_the_line():
    rows = ds.NumpySlicesDataset({"x": np.arange(9)}, shuffle=False)
    data = rows.map(fails, "x", python_multiprocessing=True, num_parallel_workers=2)
    with pytest.raises(RuntimeError, match=r"'fails' failed on row 5 .*ZeroDivisionError") as got:
        list(data.create_tuple_iterator(num_epochs=1))
    assert "In a worker process" in str(got.value) and "return 1 //" in str(got.value)


def noisy(x):
    return x + np.random.rand()


def test_random_numbers_of_functions_in_processes_follow_the_row():
    def rows(workers: int) -> list[float]:
        data = ds.NumpySlicesDataset({"x": np.arange(40.0)}, shuffle=False)
        data = data.map(noisy, "x", python_multiprocessing=True, num_parallel_workers=workers)
        return [float(x) for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]

    assert rows(1) == rows(3)


def test_a_per_batch_map_runs_in_another_process():
    rows = ds.NumpySlicesDataset({"x": np.arange(8.0)}, shuffle=False)
    data = rows.batch(
        4,
        per_batch_map=lambda x, info: ([v + info.get_batch_num() for v in x],),
        python_multiprocessing=True,
    )
    got = [x.tolist() for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert got == [[0, 1, 2, 3], [5, 6, 7, 8]]


def test_what_cannot_be_sent_is_named():
    lock = __import__("threading").Lock()
    rows = ds.NumpySlicesDataset({"x": np.arange(4)})
    data = rows.map(lambda x: (lock, x)[1], "x", python_multiprocessing=True)
    with pytest.raises(RuntimeError, match="cannot be sent to another process"):
        data.create_tuple_iterator()


def test_a_function_that_cannot_be_loaded_elsewhere_is_no_bad_row(tmp_path: Path, monkeypatch):
    (tmp_path / "gone.py").write_text("def doubled(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    gone = __import__("gone")
    (tmp_path / "gone.py").write_text("import nothing_of_that_name\n")
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    rows = ds.NumpySlicesDataset({"x": np.arange(4)}, shuffle=False)
    data = rows.map(gone.doubled, "x", python_multiprocessing=True)
    with pytest.raises(RuntimeError, match=r"(?s)cannot load the function.*nothing_of_that_name"):
        list(data.create_tuple_iterator(num_epochs=1))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(holds, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


SCRIPT = """
    import os, signal, sys, time
    import numpy as np
    import mycelia.dataset as ds

    def slowly(x):
        time.sleep(0.05)
        return x, np.array(os.getpid())

    rows = ds.NumpySlicesDataset({"x": np.zeros((1000, 64, 64))}, shuffle=False)
    data = rows.map(slowly, "x", ["x", "pid"], num_parallel_workers=2, python_multiprocessing=True)
    for x, pid in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        print(int(pid), flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_script_leaves_nothing_behind(tmp_path: Path, how: signal.Signals):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background
    )
    assert process.stdout is not None
    pids = {int(process.stdout.readline()) for _ in range(40)}
    process.send_signal(how)
    process.communicate(timeout=30)
    assert process.returncode != 0
    wait_until(lambda: not any(is_alive(pid) for pid in pids))
    if before:
        assert not {name for name in set(os.listdir("/dev/shm")) - before if "mycelia" in name}


def test_a_full_disk_ends_the_cache_but_not_the_run(tmp_path: Path):
    """A limit on the size of files stands for a disk without room."""
    script = tmp_path / "full.py"
    script.write_text(
        textwrap.dedent(
            """
            import resource, signal, sys
            import numpy as np
            import mycelia.dataset as ds

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            rows = ds.GeneratorDataset([np.full(10_000, i) for i in range(100)], "x", shuffle=False)
            data = rows.cache(folder=sys.argv[1])
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
            for epoch in range(2):
                got = [int(x[0]) for (x,) in data.create_tuple_iterator(1, output_numpy=True)]
                assert got == list(range(100)), got
            print("fine")
            """.replace("create_tuple_iterator(1,", "create_tuple_iterator(num_epochs=1,")
        )
    )
    kept = tmp_path / "kept"
    done = subprocess.run(
        [sys.executable, script, kept], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "fine\n", done.stderr
    assert "cache: caching stops after" in done.stderr
    assert list(kept.iterdir()) == []  # nothing half-written is left


def test_a_huge_batch_is_an_error_with_a_way_out():
    rows = ds.NumpySlicesDataset({"x": np.zeros((4, 8))}, shuffle=False)
    data = rows.map(lambda x: np.lib.stride_tricks.as_strided(x, (2**44,), (0,)), "x").batch(4)
    with pytest.raises(RuntimeError, match="batch: .*memory"):
        list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))


def test_limits_of_this_test_file_are_as_before():
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert RunMetrics().failures.count == 0
