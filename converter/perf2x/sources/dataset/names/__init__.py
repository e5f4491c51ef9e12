"""Names of places in a dataset: reading stored ones, and finding places that do not have any yet."""
