"""Event tables to full stacks."""
