"""``--value latency`` and ``--parallelism``: the number of threads that ran."""
