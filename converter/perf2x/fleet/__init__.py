"""Many recordings at once: spreads the work over processes and machines with Dask, and keeps it in a dataset."""
