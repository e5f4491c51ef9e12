"""Attributes and feature sections: decoded into one Session."""
