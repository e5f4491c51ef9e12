"""Converts chains of samples to distinct stacks of frame keys, and sums samples."""
