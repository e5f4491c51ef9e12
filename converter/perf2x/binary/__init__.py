"""The ELF files that a recording names."""
