"""Bytes to event tables."""

from perf2x.read.recording import PerfRecording, open_recording

__all__ = ["PerfRecording", "open_recording"]
