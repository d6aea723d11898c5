"""The engine: everything that no user imports."""
