"""Event tables to full stacks: deferred, from branch records, or unwound."""
