"""Tables of totals, samples and callers, as commands print them."""
