"""Structs of options for commands: a field with a ``Setting`` is one option.

A field has the name that the library uses; its option has the same name, unless its setting has another. A command
takes such a struct as a parameter, and cli/parameters.py expands it to options.
"""
