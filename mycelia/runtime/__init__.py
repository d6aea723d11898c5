"""The device at run time: memory statistics, streams, events."""

from mycelia._engine.runtime.memory.usage import empty_cache as empty_cache
from mycelia._engine.runtime.memory.usage import max_memory_allocated as max_memory_allocated
from mycelia._engine.runtime.memory.usage import max_memory_reserved as max_memory_reserved
from mycelia._engine.runtime.memory.usage import memory_allocated as memory_allocated
from mycelia._engine.runtime.memory.usage import memory_reserved as memory_reserved
from mycelia._engine.runtime.memory.usage import memory_stats as memory_stats
from mycelia._engine.runtime.memory.usage import memory_summary as memory_summary
from mycelia._engine.runtime.memory.usage import (
    reset_max_memory_allocated as reset_max_memory_allocated,
)
from mycelia._engine.runtime.memory.usage import (
    reset_max_memory_reserved as reset_max_memory_reserved,
)
from mycelia._engine.runtime.memory.usage import reset_peak_memory_stats as reset_peak_memory_stats
from mycelia._engine.runtime.streams import Event as Event
from mycelia._engine.runtime.streams import Stream as Stream
from mycelia._engine.runtime.streams import StreamCtx as StreamCtx
from mycelia._engine.runtime.streams import communication_stream as communication_stream
from mycelia._engine.runtime.streams import current_stream as current_stream
from mycelia._engine.runtime.streams import default_stream as default_stream
from mycelia._engine.runtime.streams import set_cur_stream as set_cur_stream
from mycelia._engine.runtime.streams import synchronize as synchronize
from mycelia.transforms.memory_report import memory_report as memory_report
