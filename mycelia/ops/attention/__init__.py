"""Scaled dot-product attention and other fused transformer operators."""
