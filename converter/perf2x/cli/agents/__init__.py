"""``perf2x mcp``: answers of a bounded size for programs that ask, such as language models."""
