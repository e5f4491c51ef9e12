"""Counts of branches and samples of one object's code, for formats of compilers."""
