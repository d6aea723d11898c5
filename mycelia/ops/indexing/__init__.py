"""Gather, scatter, slicing, subscripts, embeddings, sorting, and unique elements."""
