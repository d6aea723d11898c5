"""MindSpore's path to AutoParallel, a cell: `mycelia/__init__.py` puts it here."""
