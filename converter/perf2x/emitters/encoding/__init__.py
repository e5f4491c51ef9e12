"""Encoders of whole columns: decimal text, JSON, protobuf."""
