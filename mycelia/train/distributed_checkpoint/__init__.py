"""Checkpoints in parts: each process writes what its devices hold, any number of them reads it."""
