"""Optimizer updates, gradient clipping, and second-order statistics."""
