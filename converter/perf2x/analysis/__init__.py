"""Profile → tables: totals, differences and their noise, the frames that are shown."""
