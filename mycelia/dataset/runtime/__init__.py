"""The runtime of data pipelines: operators, workers, and queues built from a tree of nodes."""
