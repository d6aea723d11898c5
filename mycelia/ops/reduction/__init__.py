"""Reductions, cumulative operators, argmax, quantiles."""
