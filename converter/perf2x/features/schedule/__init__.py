"""When threads ran and waited, from context switches: shared by the features that need it."""
