"""Symbol sources: ELF files, Go tables, the kernel, jitdumps, perf maps, the vsyscall page."""
