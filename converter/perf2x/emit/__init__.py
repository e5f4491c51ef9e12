"""A finished profile to bytes, one module per format."""
