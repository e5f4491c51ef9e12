"""Diagnoses ELF files: which symbols, debug info and unwind tables are missing, and how to get them."""
