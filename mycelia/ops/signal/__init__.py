"""Fourier and cosine transforms, and window functions."""
