"""The library: recordings as numpy columns, Arrow tables and converted files.

``perf2x`` exports these names: ``from perf2x import read, convert``.

>>> from perf2x import convert, read
>>> recorded = read("examples/deferred/perf.data", symbols=None)
>>> recorded.samples, recorded.recorded_samples
(1799, 1799)
>>> [(event.name, event.samples, event.unit) for event in recorded.events]
[('cpu-clock', 1799, 'nanoseconds')]

One row per sample (``timeline=True``) or per distinct stack, as numpy columns:

>>> from perf2x import sample_table
>>> table = sample_table(recorded.profile)
>>> list(table)
['event', 'pid', 'tid', 'comm', 'function', 'object', 'stack', 'value', 'count']
>>> int(table["count"].sum())
1799
>>> sorted({str(name) for name in table["comm"]})
['compute', 'faults', 'read zero', 'threads', 'zufällig']

``to_arrow`` gives the same table to pyarrow, polars and pandas.

``SymbolOptions`` names the sources of names, ``Choice`` selects a part of the recording, ``Grouping`` groups its
samples; their fields are the options of the command line:

>>> from perf2x import Choice, Grouping, SymbolOptions
>>> from pathlib import Path
>>> here = SymbolOptions(symfs=Path("examples/deferred/symfs"), kallsyms=Path("examples/deferred/kallsyms.xz"))
>>> work = read("examples/deferred/perf.data", symbols=here, choice=Choice(dsos=("threads",), max_stack=1))
>>> "work::Compute::step" in set(sample_table(work.profile)["function"])
True
>>> work.samples < work.recorded_samples
True
>>> by_process = read("examples/deferred/perf.data", symbols=None, grouping=Grouping(root="process"))
>>> {str(stack).partition(";")[0] for stack in sample_table(by_process.profile)["stack"]}
{'threads-1048'}

A profile is a value: change it with ``msgspec.structs.replace``, then write it in any format:

>>> from msgspec.structs import replace
>>> from tempfile import TemporaryDirectory
>>> from perf2x import write
>>> half = replace(recorded.profile.samples, value=recorded.profile.samples.value // 2)
>>> with TemporaryDirectory() as folder:
...     write(replace(recorded.profile, samples=half), f"{folder}/half.pb.gz")

Every error that perf2x raises on purpose is a Perf2xError:

>>> from perf2x import Perf2xError
>>> try:
...     read("README.md")
... except Perf2xError as error:
...     print(str(error).partition(":")[0])
README.md
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Literal, NotRequired, TypedDict, Unpack, cast

import numpy as np
import numpy.typing as npt

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.analysis.sample_table import columns_of
from perf2x.base.columnar.arrow import ArrowTable, Coded
from perf2x.base.errors import OptionError
from perf2x.base.files.atomic import open_output, wants_gzip
from perf2x.model.profile.code_counts import CodeRequest
from perf2x.model.profile.profile import Profile
from perf2x.pipeline.for_output import for_output
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.pipeline.load_result import EventCount, Loaded
from perf2x.plugins.format_suffix import format_of
from perf2x.plugins.registry import (
    Emitter,
    build_emitter,
)
from perf2x.stitcher.call_graphs import CallGraphOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.transforms.filters.choice import Choice, Grouping

__all__ = [
    "ArrowTable",
    "CallGraphOptions",
    "Choice",
    "EventCount",
    "Grouping",
    "LoadOptions",
    "Loaded",
    "Profile",
    "ReadOptions",
    "SampleTable",
    "SymbolOptions",
    "convert",
    "read",
    "sample_table",
    "to_arrow",
    "write",
]

Path = str | PathLike[str]
_BY_DEFAULT = SymbolOptions()
_MISSING = ("mark", "kernel-only", "drop")


class ReadOptions(TypedDict, total=False):
    """Keyword arguments of ``read`` and ``convert``; left out, each is as in LoadOptions."""

    timeline: bool
    """Keep one row per sample in order of time, not one per distinct stack."""
    by_thread: bool
    """False: sum samples of threads that have one name; all threads are listed."""
    by_cpu: bool
    """Keep samples of different CPUs apart."""
    by_cgroup: bool
    """Keep samples of different control groups apart."""
    by_data_src: bool
    """Keep memory accesses of different kinds and levels apart."""
    tracepoint_fields: bool
    """Keep the fields of tracepoints, in timelines."""
    stacks: bool
    """False: count samples by event and thread only."""
    deferred_missing: Literal["mark", "kernel-only", "drop"]
    """Treatment of samples whose deferred user stack is not in the file."""
    merge_callchains: bool
    """False: leave deferred user stacks out."""
    events: tuple[str, ...]
    """Names or globs of the events to keep; empty: all."""
    choice: Choice
    """The part of the recording to take."""
    grouping: Grouping
    """Grouping of the samples of that part."""
    where: str
    """Condition of SQL on the recordings and samples of datasets; empty: none."""
    off_cpu: Literal["", "apart", "beside", "merged"]
    """Way to show the time that threads waited; empty: not at all."""
    value: Literal["", "weight", "mispredicts"]
    """Value of samples other than their period; empty: the period."""
    data_objects: bool
    """Let samples stand at the data that they accessed, without a stack."""
    pairs: tuple[str, ...]
    """Tracepoints whose distance in time is the value, ``BEGIN:END``, or ``locks``, ``block``, ``irq``; empty: none."""
    latency: Literal["", "value", "beside"]
    """Divide values by the number of threads that ran meanwhile: instead of them, or beside them; empty: not at all."""
    anonymize: str
    """Secret to hash names with; empty: leave them."""
    tags: tuple[Mapping[str, str], ...]
    """Labels of each input; empty: none."""
    start_time: int | Literal["file"] | None
    """Time of the first sample in nanoseconds since the epoch; ``file``: by the recording's date; None: as recorded."""
    max_unpacked: int | None
    """Bytes that each compressed input may unpack to (None: 200 times its size, and never less than 256 MiB), or a pipe
    may send (None: 64 GiB)."""
    allow_empty: bool
    """False: a recording without a single sample is an error that says why."""
    look_up: bool
    """False: look for objects only to unwind stacks; name nothing."""
    jobs: int
    """Processes to read with (Linux), 0: as many as are worth it. The default is 1: a library does not fork unasked."""
    code: CodeRequest | None
    """Count branches and samples of one object's code; None: do not."""
    listings: ListingOptions | None
    """Functions to list with costs of lines and instructions; None: none."""
    original: int
    """Bytes of the recording that may be kept as they are, in Profile.original; 0: none."""
    call_graphs: CallGraphOptions | None
    """Unwinding of user stack dumps and branch records; None: as usual."""


class SampleTable(TypedDict):
    """Columns of equal length; texts are object arrays of str."""

    time: NotRequired[npt.NDArray[np.uint64]]
    """Nanoseconds of the recording's clock; in a timeline only."""
    event: npt.NDArray[np.object_]
    pid: npt.NDArray[np.int32]
    """−1: unknown."""
    tid: npt.NDArray[np.int32]
    comm: npt.NDArray[np.object_]
    """Name of the thread."""
    function: npt.NDArray[np.object_]
    """Innermost function, inlined ones included; ``[libc.so.6]`` for code without a name; "" without a stack."""
    object: npt.NDArray[np.object_]
    """Base name of the file that the innermost function lies in; "" for none."""
    stack: npt.NDArray[np.object_]
    """All functions, outermost first, joined by semicolons."""
    value: npt.NDArray[np.int64]
    """Sum of periods, in the event's unit."""
    count: npt.NDArray[np.int64]
    """Number of samples."""
    cpu: NotRequired[npt.NDArray[np.int32]]
    cgroup: NotRequired[npt.NDArray[np.object_]]
    """Path of the control group."""


def read(
    inputs: Path | Sequence[Path], *, symbols: SymbolOptions | None = _BY_DEFAULT, **options: Unpack[ReadOptions]
) -> Loaded:
    """Read a recording, or several together, as a profile with reports on its quality.

    ``symbols`` names the sources of names; None looks up none. Raises Perf2xError.

    >>> from perf2x import Choice, read
    >>> read("examples/deferred/perf.data", symbols=None, choice=Choice(comms=("comp*",))).samples
    460
    """
    return load(_input_paths(inputs), _load_options(symbols, options))


def convert(
    inputs: Path | Sequence[Path],
    output: Path,
    *,
    to: str | None = None,
    settings: Mapping[str, object] | None = None,
    symbols: SymbolOptions | None = _BY_DEFAULT,
    **options: Unpack[ReadOptions],
) -> Loaded:
    """Convert to a file, whole or not at all, and return what was converted.

    ``to`` names the format; left out, the suffix of the output does. ``settings`` are the format's options
    (``perf2x formats -v`` lists them), the others are those of ``read``. Raises Perf2xError.

    >>> import tempfile
    >>> from perf2x import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = f"{folder}/calls.folded"
    ...     done = convert("examples/deferred/perf.data", out, symbols=None, settings={"value": "samples"})
    ...     with open(out) as lines:
    ...         sum(int(line.rpartition(" ")[2]) for line in lines)
    1799
    """
    names, target = _input_paths(inputs), fspath(output)
    name = to or format_of(target)
    emitter = build_emitter(name, settings)
    loaded = load(names, for_output(_load_options(symbols, options), name, emitter.needs, options.get("timeline")))
    _write_output(emitter, loaded.profile, target, tuple(names))
    return loaded


def write(
    profile: Profile, output: Path, *, to: str | None = None, settings: Mapping[str, object] | None = None
) -> None:
    """Write a profile to a file, whole or not at all; ``to`` and ``settings`` are those of ``convert``.

    A timeline is summed for formats that do not show time; chrome, firefox and perfetto show nothing else and need a
    profile that was read with ``timeline=True``. Raises Perf2xError when the format or the file cannot be written,
    ValueError when the tables of a profile made by hand contradict each other.
    """
    target = fspath(output)
    emitter = build_emitter(to or format_of(target), settings)
    profile.check()
    if profile.samples.time is None and emitter.needs.times:
        raise OptionError(
            "this format shows samples over time and the profile has no times; read it with timeline=True"
        )
    if profile.samples.time is not None and not emitter.needs.timeline:
        from perf2x.model.profile.stack_tree import without_times

        profile = without_times(profile, keep_cpu="cpu" in emitter.needs.columns)
    _write_output(emitter, profile, target, ())


def sample_table(profile: Profile) -> SampleTable:
    """One row per row of ``profile.samples`` as numpy columns; ``pandas.DataFrame(sample_table(profile))``.

    >>> from perf2x import read, sample_table
    >>> table = sample_table(read("examples/deferred/perf.data", symbols=None, timeline=True).profile)
    >>> len(table["stack"]), "time" in table
    (1799, True)
    """
    table = {
        name: _decode_texts(column) if isinstance(column, Coded) else column
        for name, column in columns_of(profile).items()
    }
    return cast(SampleTable, table)


def to_arrow(profile: Profile) -> ArrowTable:
    """Make the table of ``sample_table`` for Arrow: texts are dictionary-encoded, numbers keep their types.

    ``polars.DataFrame(to_arrow(profile))``, ``pyarrow.table(to_arrow(profile))``,
    ``pandas.DataFrame.from_arrow(to_arrow(profile))``. Needs pyarrow (``pip install 'perf2x[arrow]'``) or polars.

    >>> from perf2x import read, to_arrow
    >>> to_arrow(read("examples/deferred/perf.data", symbols=None, timeline=True).profile)
    ArrowTable(1799 rows: time, event, pid, tid, comm, function, object, stack, value, count, cpu)
    """
    return ArrowTable(columns_of(profile))


def _load_options(symbols: SymbolOptions | None, options: ReadOptions) -> LoadOptions:
    wanted = LoadOptions(symbols=symbols, **options)
    if wanted.deferred_missing not in _MISSING:
        raise OptionError(f"deferred_missing={wanted.deferred_missing!r}: it must be one of {', '.join(_MISSING)}")
    return wanted


def _write_output(emitter: Emitter, profile: Profile, target: str, inputs: tuple[str, ...]) -> None:
    with open_output(target, inputs=inputs, compress=wants_gzip(target, emitter.suffix)) as out:
        emitter.emit(profile, out)


def _decode_texts(column: Coded) -> npt.NDArray[np.object_]:
    texts = np.empty(len(column.texts), np.object_)
    texts[:] = column.texts
    return texts[column.codes]


def _input_paths(inputs: Path | Iterable[Path]) -> list[str]:
    return [fspath(inputs)] if isinstance(inputs, str | PathLike) else [fspath(each) for each in inputs]
