"""Kinds of input besides perf.data: texts and datasets."""
