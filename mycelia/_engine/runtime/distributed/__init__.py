"""Execution on several devices and processes."""
