"""Samples → slices over time."""
