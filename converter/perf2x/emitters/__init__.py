"""Output formats: each encodes a finished profile as bytes, in one file or folder."""
