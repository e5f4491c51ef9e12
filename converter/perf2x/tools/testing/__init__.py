"""Contracts and builders that ``perf2x.testing`` offers to the tests of plugins."""
