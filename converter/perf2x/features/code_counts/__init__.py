"""Counts of branches and samples in one object's code, for formats that compilers read."""
