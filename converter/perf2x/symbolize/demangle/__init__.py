"""Mangled names → what programmers wrote."""
