"""Names that are known before a source is asked: from earlier recordings, a dataset, or the recording itself."""
