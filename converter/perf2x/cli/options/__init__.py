"""Groups of options that commands share: one struct per group, one field with a ``Setting`` per option.

A field has the library's name, and the option too, unless its setting names it. cli/parameters.py expands groups to the
parameters of a command.
"""
