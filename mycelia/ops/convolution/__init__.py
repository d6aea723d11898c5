"""Convolutions, transposed and deformable convolutions, unfold, and fold."""
