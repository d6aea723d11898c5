"""Sharding plans as data, text, HTML, and SVG."""
