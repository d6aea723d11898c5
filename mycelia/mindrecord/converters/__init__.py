"""Ways from other dataset files into MindRecord."""
