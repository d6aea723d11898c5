"""The launcher: starts several processes of one script, watches them, and ends them together."""
