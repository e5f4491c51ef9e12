"""Matches deferred user chains to samples, and determines why one is missing."""
