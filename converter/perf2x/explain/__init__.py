"""Tells what an ELF file knows about its addresses, what is missing, and what would help; no conversion needs it."""
