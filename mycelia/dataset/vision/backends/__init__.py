"""OpenCV, Pillow, and PyAV, used if they are installed."""
