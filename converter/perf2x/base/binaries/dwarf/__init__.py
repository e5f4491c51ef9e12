"""A reader for the DWARF units that contain given addresses: lines and inlined functions, also in split files."""
