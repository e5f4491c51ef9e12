"""Data of tracepoints for timelines: context switches, and the fields of samples."""
