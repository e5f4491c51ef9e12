"""One decoder for each type of record."""
