"""Numpy tools that know nothing of perf: rows, distinct values, hashes, texts."""
