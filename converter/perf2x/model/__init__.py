"""The data that flow between the stages, and operations on them alone; nothing here opens a file."""
