"""The compiler: Python source to graphs, gradients of graphs, optimization passes."""
