"""Pooling and unpooling."""
