"""The machine for programs XLA cannot hold: Python decides, compiled segments compute."""
