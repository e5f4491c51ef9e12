"""Advice on how to record better."""
