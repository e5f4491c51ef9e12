"""Profiles as tables: a folder of Parquet files that recordings are added to and read from again (docs/parquet.md)."""
