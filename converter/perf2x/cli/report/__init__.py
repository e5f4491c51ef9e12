"""``perf2x report``: its data, what follows from it, and Markdown."""
