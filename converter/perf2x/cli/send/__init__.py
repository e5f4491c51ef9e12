"""Profiles to collectors and servers, instead of files."""
