"""Facts every layer shares: dtypes, shapes, user source positions, errors, settings."""
