"""What the user asked for: filters on samples before stitching, and on the profile after it."""
