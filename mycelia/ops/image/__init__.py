"""Image operators: interpolation, cropping, sampling grids, bounding boxes."""
