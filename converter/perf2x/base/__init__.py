"""Foundations without knowledge of profiles: errors, kernel constants, numpy tools, files of this machine."""
