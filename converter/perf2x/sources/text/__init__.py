"""Text inputs, such as the output of ``perf script``: samples, stacks and names as other tools printed them."""
