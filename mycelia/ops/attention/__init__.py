"""Scaled dot-product attention and other fused parts of transformers."""
