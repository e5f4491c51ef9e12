"""Numbers, texts and messages → bytes, a column at a time."""
