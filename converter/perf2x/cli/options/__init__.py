"""Structs of options for commands: a field with a ``Setting`` is one option, usually of the same name."""
