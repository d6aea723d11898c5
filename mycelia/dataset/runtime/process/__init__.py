"""User functions in worker processes, with rows in shared memory."""
