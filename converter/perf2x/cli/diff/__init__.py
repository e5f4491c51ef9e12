"""Parts of ``perf2x diff``: the files that it writes, and the limits of ``--fail-above``."""
