"""Everything that knows names: symbol tables, the kernel, jitdumps, perf maps."""
