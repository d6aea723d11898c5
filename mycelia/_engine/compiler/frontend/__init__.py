"""The frontend: tracing Python source to graphs, program state, and guards."""
