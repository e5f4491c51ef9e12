"""Flame graphs: pages and pictures."""
