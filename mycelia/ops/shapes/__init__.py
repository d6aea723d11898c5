"""Creating, reshaping, joining, padding, and repeating tensors."""
