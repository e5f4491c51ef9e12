"""Arm SPE: converts AUX buffers to records of sampled operations, and these to samples, as perf does."""
