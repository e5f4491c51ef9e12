"""A finished profile to bytes, one file or folder a format."""
