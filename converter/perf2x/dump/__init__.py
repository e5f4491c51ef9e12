"""Records as text, one by one."""
