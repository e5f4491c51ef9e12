"""OpenTelemetry profiles."""
