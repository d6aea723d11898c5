"""Elementwise operators: arithmetic, comparison, exponentials, special functions."""
