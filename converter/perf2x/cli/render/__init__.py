"""Turns the results of commands into text for a terminal, Markdown, CSV and JSON.

A command makes a ``Report`` (report_formats.py), which has the result in every format, and prints the one that the user
chose.
"""
