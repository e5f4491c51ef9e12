"""The profile, from the stitcher to the emitters, in pprof's words: its tables, stacks, frames and listings."""
