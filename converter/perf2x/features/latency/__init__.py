"""``--value latency`` and ``--parallelism``: values divided by the number of running threads."""
