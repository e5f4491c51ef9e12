"""The page of ``perf2x web``, which converts recordings in the browser. Only write_folder.py runs on this machine."""
