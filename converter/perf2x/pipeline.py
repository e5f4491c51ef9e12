"""Wires the stages; the only module that knows them all."""
