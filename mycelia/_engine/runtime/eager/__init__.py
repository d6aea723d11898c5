"""Eager mode: operators run one at a time and are recorded on a tape for gradients."""
