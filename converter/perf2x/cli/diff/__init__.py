"""What ``perf2x diff`` compares, writes and limits."""
