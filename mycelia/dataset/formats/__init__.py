"""How rows are read from arrays, user objects and files."""
