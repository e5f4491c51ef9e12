"""The page of ``perf2x web``: how its folder is written, and what runs in the browser."""
