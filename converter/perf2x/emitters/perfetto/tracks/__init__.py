"""Tracks of a Perfetto trace and their contents: slices, instants, counters, states."""
