"""Costs of functions, in one event or several, and what noise explains of them."""
