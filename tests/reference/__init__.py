"""A second opinion: perf.data read and stitched one record at a time with struct, dicts and loops.

Slow and simple on purpose, written from the format and not from perf2x; where the two disagree, one of them is wrong.
"""
