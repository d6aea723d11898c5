"""Dynamic shapes: one padded program per size bucket, with masks where padding matters."""
