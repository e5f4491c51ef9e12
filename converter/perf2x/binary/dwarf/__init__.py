"""DWARF of those units alone that addresses lie in: lines and inlined functions, in this file or in others."""
