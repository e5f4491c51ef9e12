"""Options that select samples and frames, and options that group samples.

A sample must match all kinds of filters that are set, and any one of the values of each kind: ``--comm a,b --pid 7``
keeps the samples of those threads of process 7 that are called a or b.
"""

from typing import Annotated, Any, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.model.plugin_options import FRAMES, SAMPLES, STACKS
from perf2x.model.setting import Setting, split_names

Root = Literal["", "comm", "process", "thread", "cpu", "cgroup", "container", "pod", "none"]
SAMPLES_PANEL = "Samples (all filters must match; repeat an option for more values)"
_FRAMES_PANEL = "Frames (RE matches a function, object or source file; in this order)"
# Fields with regular expressions or presets.
_PATTERN_FIELDS = ("ignore", "focus", "skip_after", "hide", "keep", "collapse")


def _sample_setting(help_text: str, name: str, metavar: str, **more: Any) -> Setting:
    return Setting(help_text, (name,), metavar, panel=SAMPLES_PANEL, **{"rare": True} | more)


def _frame_setting(help_text: str, metavar: str = "RE", *, group: str = STACKS, rare: bool = True) -> Setting:
    return Setting(help_text, metavar=metavar, panel=_FRAMES_PANEL, rare=rare, group=group)


class Filters(Frozen):
    """The filters of one run; the default keeps everything."""

    pids: Annotated[tuple[int, ...], _sample_setting("Processes.", "--pid", "PID,…", rare=False)] = ()
    tids: Annotated[tuple[int, ...], _sample_setting("Threads.", "--tid", "TID,…")] = ()
    comms: Annotated[
        tuple[str, ...],
        _sample_setting("Threads by name or glob.", "--comm", "NAME,…", rare=False, group=SAMPLES, read=split_names),
    ] = ()
    cpus: Annotated[tuple[int, ...], _sample_setting("CPUs.", "--cpu", "0-3,7", asks="times")] = ()
    dsos: Annotated[
        tuple[str, ...],
        _sample_setting(
            "Object in which the sample was taken: libc.so.6.", "--dso", "NAME,…", group=FRAMES, read=split_names
        ),
    ] = ()
    """Names or globs."""
    symbols: Annotated[
        tuple[str, ...],
        _sample_setting(
            "Function or 0xADDRESS in which the sample was taken; [libc.so.6]: code without a name.",
            "--symbol",
            "NAME,…",
            group=FRAMES,
            read=split_names,
        ),
    ] = ()
    """Names, globs or addresses (``0x1000``, ``0x1000-0x1fff``)."""
    times: Annotated[
        tuple[str, ...],
        _sample_setting(
            "Seconds as in perf script, or 10%/2, or 0%-10%.", "--time", "START,STOP", rare=False, asks="times"
        ),
    ] = ()
    """perf's grammar; see model/filters/time_ranges.py."""
    wall_times: Annotated[
        tuple[str, ...],
        _sample_setting("Times of day, 10:00:00,10:00:05.5.", "--time-wall", "START,STOP", asks="times"),
    ] = ()
    ignore: Annotated[tuple[str, ...], _frame_setting("Drop samples with a matching frame.", group=FRAMES)] = ()
    """Regular expressions or presets that match frames (``frame_presets.py``), as in the fields up to ``collapse``."""
    focus: Annotated[tuple[str, ...], _frame_setting("Keep samples with a matching frame.", group=FRAMES)] = ()
    skip_after: Annotated[tuple[str, ...], _frame_setting("Cut the callers off a matching frame.")] = ()
    hide: Annotated[
        tuple[str, ...],
        _frame_setting("Hide matching frames, or a preset: python, node, jvm, go-runtime, scheduler.", rare=False),
    ] = ()
    keep: Annotated[tuple[str, ...], _frame_setting("Keep only matching frames.")] = ()
    collapse: Annotated[tuple[str, ...], _frame_setting("Merge matching frames that call each other.")] = ()
    rename: Annotated[tuple[str, ...], _frame_setting("Replace what matches in names of functions.", "RE=NAME")] = ()
    max_stack: Annotated[
        int | None,
        Setting("Keep the N innermost frames.", metavar="N", least=0, panel=SAMPLES_PANEL, rare=True, group=FRAMES),
    ] = None
    frames: Annotated[
        Literal["", "user", "kernel"],
        Setting("Keep only user or kernel frames.", panel=SAMPLES_PANEL, rare=True, group=FRAMES),
    ] = ""
    no_idle: Annotated[bool, Setting("Drop samples of the idle task (pid 0).", panel=SAMPLES_PANEL, rare=True)] = False

    def __post_init__(self) -> None:
        """Raise SettingError for an invalid regular expression."""
        if not self.rename and not any(getattr(self, name) for name in _PATTERN_FIELDS):
            return
        from perf2x.model.filters.frame_presets import compile_patterns, compile_renames

        for name in _PATTERN_FIELDS:
            compile_patterns(name, getattr(self, name))
        compile_renames("rename", self.rename)

    def active_values(self) -> dict[str, object]:
        """Return the values of the filters that are set, by field name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value not in ((), None, "") and value is not False}

    def __bool__(self) -> bool:
        return bool(self.active_values())


class Grouping(Frozen):
    """Options that group samples."""

    PANEL = "Grouping"

    root: Annotated[
        Root, Setting("Add a root frame to every stack.", shown_default="none; collapsed: comm", group=STACKS)
    ] = ""
    """What the root frame of every stack shows, such as the thread's name (``comm``); ``none``: add no root frames.

    Empty: the format's default.
    """
    merge_threads: Annotated[bool, Setting("Merge the threads of each process.", rare=True, group=STACKS)] = False
    fold_recursion: Annotated[
        bool, Setting("Merge the frames of a function that calls itself.", rare=True, group=STACKS)
    ] = False
