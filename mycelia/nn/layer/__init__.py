"""Layers of neural networks, with one module per kind of layer."""
