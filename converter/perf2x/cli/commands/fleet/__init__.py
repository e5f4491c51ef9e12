"""The commands ``perf2x fleet …``, which work on datasets: many recordings in one folder or object store."""
