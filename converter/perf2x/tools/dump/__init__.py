"""Prints records as text, one by one."""
