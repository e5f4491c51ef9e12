"""Recorded programs: their files are found, and read for symbols, lines and unwind tables."""
