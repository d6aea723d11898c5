"""Converters from other dataset formats to MindRecord."""
