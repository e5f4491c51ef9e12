"""The data that flow between the stages, and what can be said of them alone; nothing here opens a file."""
