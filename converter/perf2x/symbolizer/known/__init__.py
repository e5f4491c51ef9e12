"""Names known before any symbol source is asked: from earlier recordings, a dataset, or the recording itself."""
