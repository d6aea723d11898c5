"""Max, average, adaptive, and fractional pooling, and unpooling."""
