"""The page of ``perf2x web``: writes its folder, and contains the code that runs in the browser."""
