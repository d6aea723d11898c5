"""Cells: layers, losses, optimizers."""
