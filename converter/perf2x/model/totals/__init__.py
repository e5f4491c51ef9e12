"""Costs of functions, in one event or several, and their sampling noise."""
