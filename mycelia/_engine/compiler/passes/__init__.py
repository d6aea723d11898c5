"""Optimization passes: lists of small rewrite rules."""
