"""Converts execution counts of code to counts of source lines, for compilers."""
