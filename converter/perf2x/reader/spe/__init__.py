"""Arm SPE: packets in AUX buffers → records of sampled operations → samples, as perf makes them."""
