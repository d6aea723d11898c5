"""Slice pushdown: compute only the part of a result that is read."""
