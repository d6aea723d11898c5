"""Profiling: measures how long operators, programs, and steps take."""

from mycelia.profiler import mstx as mstx
from mycelia.profiler.options import AicoreMetrics as AicoreMetrics
from mycelia.profiler.options import ExportType as ExportType
from mycelia.profiler.options import HostSystem as HostSystem
from mycelia.profiler.options import ProfilerActivity as ProfilerActivity
from mycelia.profiler.options import ProfilerLevel as ProfilerLevel
from mycelia.profiler.options import _ExperimentalConfig as _ExperimentalConfig
from mycelia.profiler.profiler import Profiler as Profiler
from mycelia.profiler.profiler import analyse as analyse
from mycelia.profiler.profiler import profile as profile
from mycelia.profiler.profiler import tensorboard_trace_handler as tensorboard_trace_handler
from mycelia.profiler.schedule import schedule as schedule
