"""The public classes of pipelines: datasets, samplers, iterators, and caches."""
