"""Chains of samples to distinct stacks of frame keys, and the sums of samples."""
