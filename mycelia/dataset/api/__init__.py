"""What users write: chained calls that make nodes, and iterators that run them."""
