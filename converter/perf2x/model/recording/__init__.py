"""Event tables, from the reader to the stitcher, in the kernel's words."""
