"""Memory of the process: the allocator, huge pages, usage counters."""
