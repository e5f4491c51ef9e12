"""Chains of samples to distinct stacks of frame keys, and sums of samples."""
