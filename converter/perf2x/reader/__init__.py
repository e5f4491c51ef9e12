"""Reads perf.data files: bytes → session, side-band tables and batches of samples."""

from perf2x.reader.recording import PerfRecording, open_recording

__all__ = ["PerfRecording", "open_recording"]
