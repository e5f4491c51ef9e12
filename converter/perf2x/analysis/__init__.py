"""What people are shown: totals, differences, listings, dumps, explanations, reports."""
