"""``--anonymize``: hashes in place of names."""
