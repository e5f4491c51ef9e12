"""Firefox Profiler's processed format."""
