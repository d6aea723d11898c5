"""From Python source to graphs: tracing, program state, guards."""
