"""Pipelines: stages of a network on devices of their own, fed with micro-batches."""
