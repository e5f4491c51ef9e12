"""Diagnosis of ELF files: their symbols, debug info and unwind tables, what is missing and what would help."""
