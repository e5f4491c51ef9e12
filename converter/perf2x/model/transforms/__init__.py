"""Profile → profile: grouped, merged, or with other values."""
