"""Damaged inputs through every command: ``python -m tests.fuzz --seconds 60 --seed 1``.

``seeds`` are whole inputs, ``mutations`` damage them, ``cases`` pair them with command lines, ``worker`` runs one in a
process with limits, ``sizes`` measures its temporary files, ``server`` is one of debuginfod, ``verdict`` says what is
wrong with the result, ``minimise`` makes the input small.
"""
