"""The framework whose cells run here: Mycelia or MindSpore, since they share one interface."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

NAME = os.environ.get("MYCELIA_BENCHMARK_FRAMEWORK", "mycelia")

ms: Any = import_module(NAME)
nn: Any = ms.nn
ops: Any = ms.ops
