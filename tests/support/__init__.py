"""Helpers that several kinds of tests share: where recordings are, and what perf said about them."""
