"""Symcaches: lines and inlined frames from DWARF, cached on disk."""
