"""Samples of a Perfetto trace as packets, with the tables of stacks and frames that they refer to."""
