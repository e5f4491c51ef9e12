"""Datasets: profiles as tables in Parquet files, to which recordings are added and from which they are read.

See docs/parquet.md.
"""
