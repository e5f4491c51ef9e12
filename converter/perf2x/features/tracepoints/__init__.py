"""Timelines of tracepoints: context switches from samples, and the fields of samples."""
