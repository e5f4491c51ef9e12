"""What ``perf2x.testing`` offers to the tests of plugins."""
