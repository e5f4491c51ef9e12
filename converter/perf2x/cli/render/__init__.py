"""Turns the results of commands into text for a terminal, Markdown, CSV and JSON."""
