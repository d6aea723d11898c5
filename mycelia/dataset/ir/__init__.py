"""What a data pipeline is: a stateless tree of nodes, and the rules that rewrite it."""
