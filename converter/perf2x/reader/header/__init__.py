"""Attributes and feature sections of a recording, decoded to plain values."""
