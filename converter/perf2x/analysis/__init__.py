"""Results for people: totals, differences, listings, dumps, explanations, reports."""
