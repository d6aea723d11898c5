"""User functions in processes of their own, with rows in shared memory."""
