"""Lines for people about a recording, in pprof and in what descends from it."""

from perf2x.model.profile.profile import Meta


def comment_lines(meta: Meta) -> tuple[str, ...]:
    """Return perf's version, its command line and the remarks that perf2x made."""
    lines = [f"perf-version:{meta.perf_version}"] if meta.perf_version else []
    lines += [f"perf-command:{' '.join(meta.command_line)}"] if meta.command_line else []
    return (*lines, *meta.comments)
