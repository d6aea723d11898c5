"""Tensors, parameters, sparse tensors, initializers, and random generators."""
