"""Features: each module has settings, the steps that use them, and their report."""
