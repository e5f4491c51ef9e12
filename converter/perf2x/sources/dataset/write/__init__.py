"""A recording → rows of a dataset and their files."""
