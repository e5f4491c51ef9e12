"""The page of ``perf2x view``: a temporary file, or served over HTTP."""
