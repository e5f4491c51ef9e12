"""Data that flows between the stages: events, profile, diagnostics, errors."""
