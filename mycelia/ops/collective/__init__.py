"""Collective communication, point-to-point communication, and resharding."""
