"""Reads the output of other tools: text to samples, stacks and names."""
