"""The kernel's and perf's numbers: facts without logic."""
