"""Deferred user chains: which record belongs to which sample, and why one is missing."""
