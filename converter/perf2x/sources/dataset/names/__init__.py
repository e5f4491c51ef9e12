"""Names of places in a dataset: reads stored names, and finds places without names."""
