"""Lists of small rules that make graphs better."""
