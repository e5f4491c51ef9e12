"""Names of a dataset's places: stored ones, and places that still lack them."""
