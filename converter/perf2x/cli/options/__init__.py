"""Groups of options that commands share: one struct per group, one field with a ``Setting`` per option.

A field has the library's name; the option has the same name, unless its setting has another. cli/parameters.py expands
groups to the parameters of a command.
"""
