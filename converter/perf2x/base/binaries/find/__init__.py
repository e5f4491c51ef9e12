"""Finds the files of recorded objects, by build id first: on disk, in archives, on debuginfod servers."""
