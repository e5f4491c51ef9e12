"""``--off-cpu``: time that threads waited."""
