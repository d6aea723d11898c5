"""The layers, one module per kind."""
