"""The data that flows between the stages, and operations on it; nothing here opens a file."""
