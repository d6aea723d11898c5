"""Collective communication, point-to-point messages, and resharding."""
