"""Timelines of tracepoints: context switches that only samples tell of, and the fields of samples."""
