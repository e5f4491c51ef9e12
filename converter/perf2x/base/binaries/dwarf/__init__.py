"""Reads lines and inlined functions from the DWARF units that contain given addresses, also from split files."""
