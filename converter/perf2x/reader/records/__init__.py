"""Decoders of records: samples, and the other record types."""
