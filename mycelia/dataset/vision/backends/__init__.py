"""The optional dependencies OpenCV, Pillow, and PyAV."""
