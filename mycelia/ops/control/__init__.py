"""Loops, hooks, side effects, Python scalars, and custom operators."""
