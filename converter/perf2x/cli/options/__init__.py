"""Structs of options for commands: a field with a ``Setting`` is one option.

A field is named as in the library. Its option has the same name (``max_unpacked``: ``--max-unpacked``), unless the
setting names the option. A command takes such a struct as a parameter, and cli/parameters.py expands it to options.
"""
