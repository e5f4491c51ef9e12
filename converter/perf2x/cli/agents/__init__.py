"""``perf2x mcp``: answers of limited size for programs such as language models."""
