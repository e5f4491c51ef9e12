"""Wires the stages, and knows what a source, a setting, a step and a feature are."""
