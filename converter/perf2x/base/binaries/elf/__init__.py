"""ELF: headers, sections, symbols, notes, relocations."""
