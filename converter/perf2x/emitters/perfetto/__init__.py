"""Perfetto's own trace format."""
