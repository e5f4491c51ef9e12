"""Foundations that know nothing of profiles: diagnostics, kernel constants, numpy tools, files of this machine."""
