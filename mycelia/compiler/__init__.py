"""The compiler: Python source read into graphs, gradients of graphs, better graphs."""
