"""Reads profiles of recordings from a dataset."""
