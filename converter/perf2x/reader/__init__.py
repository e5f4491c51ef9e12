"""Reads perf.data: converts bytes to event tables."""

from perf2x.reader.recording import PerfRecording, open_recording

__all__ = ["PerfRecording", "open_recording"]
