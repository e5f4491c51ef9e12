"""perf2x converts what Linux ``perf record`` wrote into pprof, Chrome trace JSON and collapsed stacks."""

__version__ = "0.1.0"
