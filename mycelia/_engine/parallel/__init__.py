"""Compilation for several devices: multi-device programs and pipelines."""
