"""Gradients of graphs by graph transformation."""
