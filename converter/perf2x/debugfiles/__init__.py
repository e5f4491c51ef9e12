"""Find the file on this machine that a recording names, by build id first."""
