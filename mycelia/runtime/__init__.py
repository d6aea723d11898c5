"""Running operators and graphs: on XLA, on the host, recorded for gradients."""
