"""Pipeline parallelism: partitioning a training step into stages, planning, and scheduling."""
