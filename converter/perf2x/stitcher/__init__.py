"""Event tables to complete stacks: recorded, deferred, from branch records, or unwound."""
