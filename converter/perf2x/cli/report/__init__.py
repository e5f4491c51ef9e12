"""Parts of ``perf2x report``: its data, advice that follows from the data, and the page."""
