"""Event files for TensorBoard: scalars, histograms, images, graphs, and hyper-parameters."""
