"""Time between two tracepoints that begin and end something (``--pair``)."""
