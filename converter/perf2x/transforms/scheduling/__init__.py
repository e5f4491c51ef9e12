"""Threads on and off their CPUs: waits, switches, and how many threads ran at once."""
