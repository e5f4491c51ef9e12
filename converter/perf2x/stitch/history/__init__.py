"""Processes over time: what was mapped, what threads were called."""
