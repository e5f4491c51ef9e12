"""pprof: gzip-compressed protobuf."""
