"""Where records come from: files, pipes, directories, compressed or not."""
