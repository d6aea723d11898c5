"""Tensors, parameters, and how they are made."""
