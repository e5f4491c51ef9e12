"""Transformations of profiles: grouped, merged, or with other values."""
