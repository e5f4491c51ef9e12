"""Rows of a dataset → the profiles of its recordings."""
