"""Parts of ``perf2x diff``: the pair to compare, output files, limits."""
