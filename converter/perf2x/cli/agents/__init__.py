"""``perf2x mcp``: answers about recordings, of limited size, for language models."""
