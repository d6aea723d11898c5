"""MindSpore's path to AutoParallel."""

from mycelia.nn.wrap.auto_parallel import AutoParallel as AutoParallel
