"""Intervals in which threads ran and waited, of context switches: for the features that ask for them."""
