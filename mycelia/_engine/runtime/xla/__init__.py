"""XLA programs: lowering, compilation, and caching."""
