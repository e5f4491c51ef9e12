"""The user's filters: on samples before stitching, and on the profile after it."""
