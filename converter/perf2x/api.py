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

``SymbolOptions`` says where to look up names, ``Filters`` selects a part of the recording, ``Grouping`` groups its
samples; the fields of these three are options of the command line:

>>> from perf2x import Filters, Grouping, SymbolOptions
>>> from pathlib import Path
>>> files = SymbolOptions(symfs=Path("examples/deferred/symfs"), kallsyms=Path("examples/deferred/kallsyms.xz"))
>>> work = read("examples/deferred/perf.data", symbols=files, filters=Filters(dsos=("threads",), max_stack=1))
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
from typing import Unpack, cast

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar import DictionaryColumn
from perf2x.base.columnar.arrow import ArrowTable, Strings
from perf2x.errors import OptionError
from perf2x.kernel.conversion import convert_recordings, write_file
from perf2x.kernel.format_suffix import check_output_name, format_of
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.kernel.load_result import EventCount, Loaded
from perf2x.kernel.registry import Emitter, build_emitter
from perf2x.library_types import FormatName, ReadOptions, TableOptions
from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.model.profile import Profile, View, profile_as_view
from perf2x.model.totals.row_kinds import By, Sort, Value
from perf2x.model.transforms.replace_samples import table_load_options
from perf2x.stitcher.call_graph_options import CallGraphOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.tools.diff.changed_rows import DiffTable, RowSelection
from perf2x.tools.diff.pair_options import PairOptions, read_object_names
from perf2x.tools.diff.recording_pair import pair_of
from perf2x.tools.tables.sample_table import SampleTable, sample_columns
from perf2x.tools.tables.top_rows import TopTable

__all__ = [
    "ArrowTable",
    "CallGraphOptions",
    "DiffTable",
    "EventCount",
    "Filters",
    "Grouping",
    "LoadOptions",
    "Loaded",
    "Profile",
    "ReadOptions",
    "SampleTable",
    "SymbolOptions",
    "TableOptions",
    "TopTable",
    "convert",
    "diff",
    "read",
    "sample_table",
    "to_arrow",
    "top",
    "write",
]

StrPath = str | PathLike[str]
_DEFAULT_SYMBOLS = SymbolOptions()
_KEEP_CHOICES = {"cpu", "cgroup", "data_src", "fields"}  # names of columns that ``keep`` may contain


def read(
    inputs: StrPath | Sequence[StrPath],
    *,
    symbols: SymbolOptions | None = _DEFAULT_SYMBOLS,
    **options: Unpack[ReadOptions],
) -> Loaded:
    """Read a recording, or several together, as a profile with reports on its quality.

    ``symbols`` says where to look up names; None: no names are looked up. Raises Perf2xError.

    >>> from perf2x import Filters, read
    >>> read("examples/deferred/perf.data", symbols=None, filters=Filters(comms=("comp*",))).samples
    460
    """
    return load(_input_paths(inputs), _load_options(symbols, options))


def convert(
    inputs: StrPath | Sequence[StrPath],
    output: StrPath,
    *,
    to: FormatName | Emitter | None = None,
    settings: Mapping[str, object] | None = None,
    symbols: SymbolOptions | None = _DEFAULT_SYMBOLS,
    **options: Unpack[ReadOptions],
) -> Loaded:
    """Convert recordings to a file, whole or not at all, and return the converted profile with reports on its quality.

    ``to`` names the format; None: the format is determined by the suffix of ``output``. ``settings`` are the format's
    options (``perf2x formats -v`` lists them). ``to`` may also be an emitter, an object whose fields are these options;
    for a plugin's format, pass ``perf2x.plugins.build_emitter(name, settings)``. ``symbols`` and ``options`` are those
    of ``read``. Raises Perf2xError.

    >>> import tempfile
    >>> from perf2x import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = f"{folder}/calls.folded"
    ...     converted = convert("examples/deferred/perf.data", out, symbols=None, settings={"value": "samples"})
    ...     with open(out) as lines:
    ...         sum(int(line.rpartition(" ")[2]) for line in lines)
    1799
    """
    sources, target = _input_paths(inputs), fspath(output)
    format_name, emitter = _emitter(to, target, settings)
    all_options = _load_options(symbols, options)
    timeline = options.get("timeline")
    return convert_recordings(
        lambda profile: [(target, profile)], sources, format_name, emitter, all_options, timeline=timeline
    )[0]


def write(
    profile: Profile,
    output: StrPath,
    *,
    to: FormatName | Emitter | None = None,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Write a profile to a file, whole or not at all; ``to`` and ``settings`` are as in ``convert``.

    A timeline is summed for formats that do not show time. Formats that show samples over time, such as chrome, firefox
    and perfetto, need a profile that was read with ``timeline=True``. Raises Perf2xError if the format or the file
    cannot be written, ValueError if the tables of a profile made by hand contradict each other.
    """
    target = fspath(output)
    _, emitter = _emitter(to, target, settings)
    profile.check()
    if profile.samples.time is None and emitter.needs.times:
        raise OptionError(
            "this format shows samples over time and the profile has no times; read it with timeline=True"
        )
    if profile.samples.time is not None and not emitter.needs.timeline:
        from perf2x.model.plugin_options import WAITS
        from perf2x.model.profile import without_times

        # a format that does not show waits (off-CPU time) leaves them out, so they must not be summed with samples
        leaves_out_waits = WAITS not in emitter.needs.honours
        profile = without_times(profile, keep_cpu="cpu" in emitter.needs.columns, keep_wait=leaves_out_waits)
    write_file(emitter, profile if isinstance(profile, View) else profile_as_view(profile), target, ())


def sample_table(profile: Profile) -> SampleTable:
    """Return the rows of ``profile.samples`` as numpy columns, with names instead of indices.

    ``pandas.DataFrame(sample_table(profile))`` makes a data frame of them.

    >>> from perf2x import read, sample_table
    >>> table = sample_table(read("examples/deferred/perf.data", symbols=None, timeline=True).profile)
    >>> len(table["stack"]), "time" in table
    (1799, True)
    """
    table = {
        name: _decode_strings(column) if isinstance(column, DictionaryColumn) else column
        for name, column in sample_columns(profile).items()
    }
    return cast(SampleTable, table)


def to_arrow(profile: Profile) -> ArrowTable:
    """Return the table of ``sample_table`` for Arrow: strings are dictionary-encoded, numbers keep their types.

    Use it as ``polars.DataFrame(to_arrow(profile))``, ``pyarrow.table(to_arrow(profile))``,
    ``pandas.DataFrame.from_arrow(to_arrow(profile))``. Needs pyarrow (``pip install 'perf2x[arrow]'``) or polars.

    >>> from perf2x import read, to_arrow
    >>> to_arrow(read("examples/deferred/perf.data", symbols=None, timeline=True).profile)
    ArrowTable(1799 rows: time, event, pid, tid, comm, function, object, stack, value, count, cpu)
    """
    return ArrowTable(sample_columns(profile))


def top(
    inputs: StrPath | Sequence[StrPath] | Loaded,
    *,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    limit: int = 0,
    columns: Sequence[str] = (),
    symbols: SymbolOptions | None = _DEFAULT_SYMBOLS,
    **options: Unpack[TableOptions],
) -> TopTable:
    """Return the hottest functions, objects or threads, with the numbers of ``perf2x top``.

    ``limit`` is the maximum number of rows (0: all); ``columns`` are values of the command's option ``--column``. If
    ``inputs`` is the result of ``read``, ``symbols`` and ``options`` have no effect: latencies, weights, mispredicts
    and data objects must have been selected when it was read. Raises Perf2xError.

    >>> from perf2x import top
    >>> print(top("examples/deferred/perf.data", symbols=None, by="thread", limit=2))
    TopTable: cpu-clock: 1,799 samples, 1.80 s in 1.556 s; showing 2 of 6 names of 5 threads
      25.6 % 25.6 % compute 1048/1050, 24.8 % 24.8 % read zero 1048/1051
      columns: name, object, self, total
    """
    _check_limit(limit)
    all_options = _load_options(symbols, options).with_values(
        **table_load_options(by, value), keep_other_events=bool(columns)
    )
    return TopTable(_read(inputs, all_options).profile, by, sort, value, limit, columns)


def diff(
    before: StrPath | Loaded,
    after: StrPath | Loaded,
    *,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    limit: int = 0,
    normalize: bool = False,
    per: tuple[float, float] | None = None,
    per_value: str = "",
    map: Mapping[str, str] | None = None,  # noqa: A002  as the command's option is called
    confidence: float = 0.95,
    unmoved: bool = False,
    columns: Sequence[str] = (),
    symbols: SymbolOptions | None = _DEFAULT_SYMBOLS,
    **options: Unpack[TableOptions],
) -> DiffTable:
    """Return the functions, objects or threads that changed most, with the numbers of ``perf2x diff``.

    ``normalize``: compare shares instead of costs. ``per`` has the units of work done before and after, to compare
    costs per unit; ``per_value`` names an event that counts these units instead. ``map`` maps names of objects before
    to their names after; other objects are matched by their functions. ``confidence``, between 0 and 1, is the
    probability that all intervals are right at once. ``unmoved``: also keep rows that did not change. All other
    parameters are as in ``top``. Raises Perf2xError.

    >>> from perf2x import diff
    >>> same = "examples/deferred/perf.data"
    >>> len(diff(same, same, symbols=None))
    0
    """
    _check_limit(limit)
    if not 0 < confidence < 1:
        raise OptionError(f"confidence={confidence}: it must be between 0 and 1")
    pair_options = PairOptions(
        normalize, per, per_value, read_object_names("map", [f"{old}={new}" for old, new in (map or {}).items()])
    )
    all_options = _load_options(symbols, options).with_values(
        **table_load_options(by, value), keep_other_events=bool(columns)
    )
    loaded = [_read(side, pair_options.to_load(all_options)) for side in (before, after)]
    names = [side.recording.session.source if isinstance(side, Loaded) else fspath(side) for side in (before, after)]
    pair = pair_of(
        (names[0], names[1]), (loaded[0], loaded[1]), value, pair_options, () if columns else all_options.events
    )
    return pair.table(RowSelection(by, sort, limit, unmoved), pair.comparison_by(by).changes(confidence), columns)


def _read(inputs: StrPath | Sequence[StrPath] | Loaded, options: LoadOptions) -> Loaded:
    return inputs if isinstance(inputs, Loaded) else load(_input_paths(inputs), options)


def _check_limit(limit: int) -> None:
    if limit < 0:
        raise OptionError(f"limit={limit}: it must be 0 (all rows) or more")


def _emitter(
    to: FormatName | Emitter | None, target: str, settings: Mapping[str, object] | None
) -> tuple[str, Emitter]:
    if to is None or isinstance(to, str):
        name = to or format_of(target)
        check_output_name(name, target)
        return name, build_emitter(name, settings)
    if settings:
        raise OptionError("settings are for the name of a format; an emitter has its own")
    return type(to).__name__.lower(), to


def _load_options(symbols: SymbolOptions | None, options: ReadOptions | TableOptions) -> LoadOptions:
    """Return the options for a load. Raises OptionError for an unknown column in ``keep``."""
    all_options = load_options(symbols=symbols, **options)
    if unknown := ", ".join(sorted(all_options.keep - _KEEP_CHOICES)):
        raise OptionError(f"keep={unknown}: it may have {', '.join(sorted(_KEEP_CHOICES))}")
    return all_options


def _decode_strings(column: Strings) -> npt.NDArray[np.object_]:
    distinct = np.empty(len(column.distinct), np.object_)
    distinct[:] = column.distinct
    return distinct[column.indices]


def _input_paths(inputs: StrPath | Iterable[StrPath]) -> list[str]:
    paths = [fspath(inputs)] if isinstance(inputs, str | PathLike) else [fspath(path) for path in inputs]
    if not paths:
        raise OptionError("no recording was given: the list of inputs is empty")
    return paths
