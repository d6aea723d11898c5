"""Eager mode: operators run one at a time and are recorded for gradients when asked."""
