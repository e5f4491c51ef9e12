"""Filters of the user: on samples before stitching, and on the profile after it."""
