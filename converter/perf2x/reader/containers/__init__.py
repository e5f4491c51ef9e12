"""Containers of records: files, pipes and directories, compressed or not."""
