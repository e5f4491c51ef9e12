"""Recordings whose samples have their stacks already."""
