"""MindSpore's import path for `AutoParallel`."""

from mycelia.nn.wrap.auto_parallel import AutoParallel as AutoParallel
