"""What graphs are made of: types, operators as values, nodes, graphs; and what is known of them."""
