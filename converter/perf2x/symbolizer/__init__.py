"""Resolves addresses to functions, files, lines and inlined frames."""
