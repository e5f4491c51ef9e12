"""What is kept for later: one recording as a bundle, many as a dataset."""
