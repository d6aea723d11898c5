"""Hardware: devices, streams, events, and memory in use."""

from mycelia._engine.runtime.streams import Event as Event
from mycelia._engine.runtime.streams import Stream as Stream
from mycelia._engine.runtime.streams import StreamCtx as StreamCtx
from mycelia._engine.runtime.streams import communication_stream as communication_stream
from mycelia._engine.runtime.streams import current_stream as current_stream
from mycelia._engine.runtime.streams import default_stream as default_stream
from mycelia._engine.runtime.streams import set_cur_stream as set_cur_stream
from mycelia._engine.runtime.streams import synchronize as synchronize
from mycelia.hal.device import device_count as device_count
from mycelia.hal.device import get_arch_list as get_arch_list
from mycelia.hal.device import get_device_capability as get_device_capability
from mycelia.hal.device import get_device_name as get_device_name
from mycelia.hal.device import get_device_properties as get_device_properties
from mycelia.hal.device import is_available as is_available
from mycelia.hal.device import is_initialized as is_initialized
from mycelia.hal.memory import empty_cache as empty_cache
from mycelia.hal.memory import max_memory_allocated as max_memory_allocated
from mycelia.hal.memory import max_memory_reserved as max_memory_reserved
from mycelia.hal.memory import memory_allocated as memory_allocated
from mycelia.hal.memory import memory_reserved as memory_reserved
from mycelia.hal.memory import memory_stats as memory_stats
from mycelia.hal.memory import memory_summary as memory_summary
from mycelia.hal.memory import reset_max_memory_allocated as reset_max_memory_allocated
from mycelia.hal.memory import reset_max_memory_reserved as reset_max_memory_reserved
from mycelia.hal.memory import reset_peak_memory_stats as reset_peak_memory_stats
