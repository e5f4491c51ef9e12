"""Datasets: profiles as Delta tables, to which recordings are added and from which they are read (docs/parquet.md)."""
