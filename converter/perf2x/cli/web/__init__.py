"""The page of ``perf2x web``, which converts recordings in the browser.

write_folder.py writes its files, and runs on this machine; in_browser.py and ``page/`` run in the browser.
"""
