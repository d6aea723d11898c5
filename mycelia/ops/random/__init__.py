"""Random numbers: distributions, sampling, dropout."""
