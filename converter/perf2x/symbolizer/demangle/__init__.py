"""Converts mangled symbol names to readable ones."""
