"""MATLAB files are read as SciPy reads them, and damaged ones are refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import loadmat, savemat

from mycelia.dataset.formats.matlab import read_matlab


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        np.array([[-(2**40), 2**40]]),
        np.float32([[1.5]]),
        np.array([[True, False]]),
        np.zeros((0, 3), np.int16),
        np.arange(4000, dtype=np.int32).reshape(50, 80),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)
def test_arrays_are_those_of_scipy(tmp_path: Path, array: np.ndarray, compressed: bool):
    path = tmp_path / "a.mat"
    savemat(path, {"other": np.ones(3), "x": array}, do_compression=compressed)
    (found,), wanted = read_matlab(path, ("x",), "test"), loadmat(path)["x"]
    np.testing.assert_array_equal(found, wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)


def test_structures_cells_and_sparse_arrays(tmp_path: Path):
    path, plane = tmp_path / "a.mat", np.array([[0, 1.5, 0], [2, 0, 0]])
    cells = np.empty((2, 1), object)
    cells[:, 0] = [sparse.csc_matrix(plane), np.ones((1, 2))]
    savemat(path, {"s": {"Longer": cells, "b": np.uint8([[7]])}})
    ((only,),) = read_matlab(path, ("s",), "test")
    np.testing.assert_array_equal(only["Longer"][0, 0], plane)
    np.testing.assert_array_equal(only["Longer"][1, 0], [[1, 1]])
    np.testing.assert_array_equal(only["b"], [[7]])


def test_absent_arrays_and_other_files_are_told(tmp_path: Path):
    path = tmp_path / "a.mat"
    savemat(path, {"x": np.ones(3)})
    with pytest.raises(RuntimeError, match="lacks an array"):
        read_matlab(path, ("y",), "test")
    path.write_bytes(b"MATLAB 7.3 is HDF5")
    with pytest.raises(RuntimeError, match="is not a valid MATLAB file"):
        read_matlab(path, ("x",), "test")


def test_sizes_that_the_file_cannot_have_are_refused(tmp_path: Path):
    path = tmp_path / "a.mat"
    savemat(path, {"x": sparse.csc_matrix(np.eye(3))})
    data = path.read_bytes()
    shape = struct.pack("<ii", 3, 3)
    path.write_bytes(data.replace(shape, struct.pack("<ii", 2**31 - 1, 3)))
    with pytest.raises(RuntimeError, match="sparse array"):
        read_matlab(path, ("x",), "test")
    path.write_bytes(data.replace(shape, struct.pack("<ii", 1, 3)))
    with pytest.raises(RuntimeError, match="outside of a sparse array"):
        read_matlab(path, ("x",), "test")
