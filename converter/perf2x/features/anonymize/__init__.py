"""``--anonymize``: hashes instead of names."""
