"""The commands, a module for each: a function whose parameters are the options, and whose docstring is the help."""
