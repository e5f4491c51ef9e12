"""A reader for the DWARF units that hold given addresses: lines and inlined functions, also in split files."""
