"""Turns record tables into complete stacks: recorded, deferred, from branch records, or unwound."""
