"""Processes over time: their mappings and the names of their threads."""
