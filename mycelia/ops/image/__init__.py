"""Image operators: interpolation, cropping, grid sampling, and bounding boxes."""
