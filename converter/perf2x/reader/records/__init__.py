"""Decoders of records, one for each type."""
