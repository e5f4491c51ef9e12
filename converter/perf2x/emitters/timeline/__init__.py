"""Samples as slices over time, for formats with a timeline."""
