"""An interpreter for Python source whose tensors are graph nodes."""
