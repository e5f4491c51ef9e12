"""Go's own tables of functions and lines."""
