"""Execution: eager dispatch, XLA programs, the fallback interpreter, devices, memory."""
