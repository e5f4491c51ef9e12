"""What tracepoints recorded, for timelines: context switches, and the fields of samples."""
