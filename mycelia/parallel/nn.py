"""MindSpore's path to cells of parallel training: `mycelia/__init__.py` puts them here."""
