"""The file header and its feature sections → one Session."""
