"""Automatic parallelism: sharding strategies, their costs, and the search for layouts."""
