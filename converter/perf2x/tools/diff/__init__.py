"""``perf2x diff``: two recordings, compared."""
