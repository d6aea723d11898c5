"""The fallback interpreter: Python runs control flow, compiled segments compute."""
