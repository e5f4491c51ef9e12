"""The containers of records: a file or a pipe, compressed or not, and compressed records in it."""
