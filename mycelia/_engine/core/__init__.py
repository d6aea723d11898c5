"""Basics that every layer shares: dtypes, shapes, source locations, errors, settings."""
