"""Compilation for several devices: sharded programs and pipeline parallelism."""
