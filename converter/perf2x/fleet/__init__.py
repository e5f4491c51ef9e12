"""Many recordings at once: spreads the work over processes and machines, and keeps it in a dataset."""
