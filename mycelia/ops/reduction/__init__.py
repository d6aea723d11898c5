"""Reductions, cumulative operators, argmax, and quantiles."""
