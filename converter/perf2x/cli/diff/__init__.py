"""Parts of ``perf2x diff``: the pair that it compares, files that it writes, limits."""
