"""Reads what other tools print of samples: text to samples, stacks and names."""
