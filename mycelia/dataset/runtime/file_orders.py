"""The orders of rows that keep together what is in one file."""

from __future__ import annotations

import numpy as np

from mycelia.dataset.formats.reader import Reader
from mycelia.dataset.ir.records import FileOrder
from mycelia.dataset.runtime.sampling import Random, choose


@choose.register
def choose_by_file(sampler: FileOrder, size: int, random: Random, reader: Reader) -> np.ndarray:
    """Row numbers below `size`, file by file."""
    ends = np.cumsum(sampler.sizes)
    files = [np.arange(end - count, end) for end, count in zip(ends, sampler.sizes)]
    files = files[sampler.shard_id :: sampler.num_shards]
    draws = random()
    if sampler.mixes_files:
        files = [files[place] for place in draws.permutation(len(files))]
    if sampler.mixes_rows:
        files = [draws.permutation(rows) for rows in files]
    return np.concatenate([*files, np.arange(ends[-1], size)])
