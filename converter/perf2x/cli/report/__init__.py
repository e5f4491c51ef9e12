"""``perf2x report``: its facts, what follows from them, and Markdown."""
