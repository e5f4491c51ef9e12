"""Packs a recording with the files that its symbols need, and unpacks it elsewhere."""
