"""Matches deferred user chains to samples, and finds out why one is missing."""
