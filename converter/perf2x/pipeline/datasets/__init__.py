"""Recordings into datasets, and out of them again."""
