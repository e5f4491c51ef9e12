"""Diagnoses ELF files: symbols, debug info and unwind tables, what is missing and how to get it."""
