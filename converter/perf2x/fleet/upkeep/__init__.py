"""Upkeep of datasets: files put together, old timelines summed, old recordings removed."""
