"""Names of a dataset's places: those it has, those it lacks, and the files they are kept in."""
