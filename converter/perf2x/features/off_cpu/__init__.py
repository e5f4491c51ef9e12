"""``--off-cpu``: the time that threads waited."""
