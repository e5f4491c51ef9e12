"""Mangled symbol names to readable ones."""
