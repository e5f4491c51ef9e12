"""Work of commands on finished profiles, for the command line, the library and agents."""
