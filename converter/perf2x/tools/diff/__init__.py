"""Compares two recordings, for ``perf2x diff``."""
