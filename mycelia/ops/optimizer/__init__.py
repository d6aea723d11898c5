"""Optimizer updates, gradient clipping, second-order statistics."""
