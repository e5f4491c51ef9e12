"""Filters that the user asked for: on samples before stitching, and on the profile after it."""
