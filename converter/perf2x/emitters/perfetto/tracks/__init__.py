"""Tracks of a Perfetto trace and what is on them: slices, instants, counters, states."""
