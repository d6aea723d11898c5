"""What graphs are made of: types, operators as values, examples of operators."""
