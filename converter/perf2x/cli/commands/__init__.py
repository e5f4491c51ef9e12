"""The commands, a module for each: the function's parameters are its options, its docstring is its help."""
