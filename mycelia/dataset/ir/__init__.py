"""The intermediate representation of pipelines: a stateless tree of nodes and its optimizer."""
