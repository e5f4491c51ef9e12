"""``python -m tests.bench``: perf2x beside perf script on large files; the answers are checked, not the time."""
