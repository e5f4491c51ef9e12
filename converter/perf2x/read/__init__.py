"""Bytes to event tables."""
