"""File formats and readers: how rows are read from arrays, user objects, and files."""
