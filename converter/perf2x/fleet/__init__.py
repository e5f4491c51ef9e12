"""Many recordings at once: distributes work over processes and machines with Dask, and stores results in a dataset."""
