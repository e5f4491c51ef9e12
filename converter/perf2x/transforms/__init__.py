"""Profile → profile: filtered, grouped, merged, anonymized, or of other values."""
