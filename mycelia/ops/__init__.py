"""Operators: one class for each, all its rules inside, and the functions written with them."""
