"""Array functions that compute operators fast on CPU."""
