"""Features: a module has settings, the steps that they ask for, and their report."""
