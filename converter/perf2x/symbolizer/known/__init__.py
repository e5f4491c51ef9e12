"""Names known before any symbol source is used: from earlier recordings, a dataset, or the recording itself."""
