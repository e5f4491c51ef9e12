"""Unwinds user registers and stack dumps to chains."""
