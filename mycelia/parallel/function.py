"""MindSpore's path to reshard, an operator: `mycelia/__init__.py` puts it here."""
