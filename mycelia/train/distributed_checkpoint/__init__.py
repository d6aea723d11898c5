"""Sharded checkpoints: each process writes its shards; any number of processes can load."""
