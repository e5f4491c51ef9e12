"""Profile → profile: select, group, merge, compact, anonymize, off-CPU time."""
