"""Connects the stages; defines sources, settings, steps and features."""
