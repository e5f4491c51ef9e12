"""Analyses of finished profiles, and of files, for the command line, the library and agents."""
