"""XLA programs: how functions on arrays are compiled."""
