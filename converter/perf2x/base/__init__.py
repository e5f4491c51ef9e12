"""Ground that knows no profile: errors, numbers of the kernel, numpy tools, files of this machine."""
