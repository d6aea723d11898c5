"""How a data pipeline runs: operators, workers and queues built from a tree of nodes."""
