"""Watching runs: what they record, and files that say it."""
