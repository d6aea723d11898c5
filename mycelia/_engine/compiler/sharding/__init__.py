"""Automatic parallelism: sharding strategies, the cost model, and the search for layouts."""
