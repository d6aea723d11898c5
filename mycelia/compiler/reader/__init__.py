"""Reading Python source into typed graphs: an interpreter whose tensors are nodes."""
