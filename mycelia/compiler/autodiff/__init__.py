"""Gradients of graphs, by the rules of the operators."""
