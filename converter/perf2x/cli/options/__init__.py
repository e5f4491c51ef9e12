"""Groups of options that commands share: one struct for each group, one field with a ``Setting`` for each option.

A field has the name that the library knows it by; the option is called the same unless it says otherwise.
cli/parameters.py spreads groups over the parameters of a command.
"""
