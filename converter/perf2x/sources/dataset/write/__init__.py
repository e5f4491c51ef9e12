"""Writes recordings to a dataset."""
