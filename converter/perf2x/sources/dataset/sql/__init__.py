"""A dataset's tables as SQL: DuckDB, its views, and conditions on recordings and samples."""
