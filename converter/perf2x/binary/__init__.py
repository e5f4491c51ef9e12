"""Readers of binary formats: ELF, DWARF and Go's function tables."""
