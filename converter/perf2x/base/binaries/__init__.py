"""Recorded programs: finds their files and reads symbols, lines and unwind tables from them."""
