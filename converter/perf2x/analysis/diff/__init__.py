"""Before and after: which functions changed, and which changes noise can explain."""
