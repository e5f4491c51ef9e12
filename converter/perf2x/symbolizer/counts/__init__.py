"""Counts of code to counts of functions' lines, for formats of compilers."""
