"""Random operators: distributions, sampling, and dropout."""
