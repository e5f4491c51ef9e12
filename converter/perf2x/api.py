"""The library: recordings as numpy columns, and conversions, from Python.

Two functions and the tables they give; ``perf2x`` exports them by name (``from perf2x import read, convert``).

>>> from perf2x import convert, read
>>> recorded = read("examples/deferred/perf.data", symbols=None)
>>> recorded.samples
1799
>>> [(event.name, event.samples, event.unit) for event in recorded.events]
[('cpu-clock', 1799, 'nanoseconds')]

One row per sample (``timeline=True``) or per distinct stack; columns that numpy and pandas take as they are:

>>> from perf2x import sample_table
>>> table = sample_table(recorded.profile)
>>> list(table)
['event', 'pid', 'tid', 'comm', 'function', 'object', 'stack', 'value', 'count']
>>> int(table["count"].sum())
1799
>>> sorted({str(name) for name in table["comm"]})
['compute', 'faults', 'read zero', 'threads', 'zufällig']

Names come from where ``SymbolOptions`` says, a part of the recording is taken by ``Choice``, ``Grouping`` puts it
together; the fields are the command line's options:

>>> from perf2x import Choice, Grouping, SymbolOptions
>>> from pathlib import Path
>>> here = SymbolOptions(symfs=Path("examples/deferred/symfs"), kallsyms=Path("examples/deferred/kallsyms.xz"))
>>> work = read("examples/deferred/perf.data", symbols=here, choice=Choice(dsos=("threads",), max_stack=1))
>>> "work::Compute::step" in set(sample_table(work.profile)["function"])
True
>>> by_process = read("examples/deferred/perf.data", symbols=None, grouping=Grouping(root="process"))
>>> {str(stack).partition(";")[0] for stack in sample_table(by_process.profile)["stack"]}
{'threads-1048'}

What cannot be read is one kind of error:

>>> from perf2x import Perf2xError
>>> try:
...     read("README.md")
... except Perf2xError as error:
...     print(str(error).partition(":")[0])
README.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np

from perf2x import pipeline, plugins
from perf2x.cli.output import writing
from perf2x.cli.output_flags import compress, format_of
from perf2x.emit.frames import Frames, frames_of
from perf2x.model.arrays import AnyArray
from perf2x.model.choice import Choice, Grouping
from perf2x.model.profile import Profile
from perf2x.model.ragged import Ragged
from perf2x.model.stacks import location_rows, used_stacks
from perf2x.pipeline import Loaded, LoadOptions
from perf2x.symbolize.options import SymbolOptions

__all__ = ["Choice", "Grouping", "LoadOptions", "Loaded", "Profile", "SymbolOptions", "convert", "read", "sample_table"]

Path = str | PathLike[str]
_BY_DEFAULT = SymbolOptions()


def read(inputs: Path | Sequence[Path], *, symbols: SymbolOptions | None = _BY_DEFAULT, **options: Any) -> Loaded:
    """One recording, or several together, as a profile with everything there is to say about it.

    ``symbols`` says where names come from, None looks none up; ``options`` are the fields of LoadOptions
    (``timeline=True``, ``choice=Choice(comms=("nginx*",))``, ``events=("cycles",)``). Raises Perf2xError.

    >>> from perf2x import Choice, read
    >>> read("examples/deferred/perf.data", symbols=None, choice=Choice(comms=("comp*",))).events[0].samples < 1799
    True
    """
    return pipeline.load(_names(inputs), LoadOptions(symbols=symbols, **options))


def convert(
    inputs: Path | Sequence[Path],
    output: Path,
    *,
    to: str | None = None,
    settings: Mapping[str, object] | None = None,
    symbols: SymbolOptions | None = _BY_DEFAULT,
    **options: Any,
) -> Loaded:
    """Convert to a file, whole or not at all, and return what was converted.

    ``to`` is the format, told by the output's suffix when left out; ``settings`` are the format's options; the others
    are those of ``read``. Raises Perf2xError.

    >>> import tempfile
    >>> from perf2x import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = f"{folder}/calls.folded"
    ...     done = convert("examples/deferred/perf.data", out, symbols=None, settings={"value": "samples"})
    ...     with open(out) as lines:
    ...         sum(int(line.rpartition(" ")[2]) for line in lines)
    1799
    """
    names, target = _names(inputs), fspath(output)
    name = to or format_of(target)
    emitter = plugins.build_emitter(name, settings)
    columns = plugins.wanted_columns(emitter)
    wanted = LoadOptions(symbols=symbols, **{"timeline": emitter.timeline, **options})
    wanted = replace(
        wanted, by_cpu=wanted.by_cpu or "cpu" in columns, by_cgroup=wanted.by_cgroup or "cgroup" in columns
    )
    loaded = pipeline.load(names, wanted)
    with writing(target, inputs=tuple(names), compress=compress(target, emitter.suffix)) as out:
        emitter.emit(loaded.profile, out)
    return loaded


def sample_table(profile: Profile) -> dict[str, AnyArray]:
    """Columns of equal length, one row per row of ``profile.samples``; ``pandas.DataFrame(sample_table(profile))``.

    ``function`` and ``object`` are those of the innermost frame, ``stack`` the whole stack outermost first, joined by
    semicolons; texts are object arrays of str. ``time`` (nanoseconds, uint64) and ``cpu`` are there when the profile
    has them.
    """
    samples, threads = profile.samples, profile.threads
    leaves, place = used_stacks(profile)
    names, objects, stacks = _texts_of(profile, leaves)
    table: dict[str, AnyArray] = {
        "event": _texts([event.name for event in profile.events])[samples.event],
        "pid": threads.pid[samples.thread],
        "tid": threads.tid[samples.thread],
        "comm": _texts([profile.strings[row] for row in threads.comm.tolist()])[samples.thread],
        "function": _texts(names)[place],
        "object": _texts(objects)[place],
        "stack": _texts(stacks)[place],
        "value": samples.value,
        "count": samples.count,
    }
    timed = {} if samples.time is None else {"time": samples.time}
    return {**timed, **table} | ({} if samples.cpu is None else {"cpu": samples.cpu})


def _texts_of(profile: Profile, leaves: AnyArray) -> tuple[list[str], list[str], list[str]]:
    """Innermost function and object, and the joined stack, of each distinct stack."""
    frames: Frames = frames_of(profile)
    rows = location_rows(profile, leaves)
    expanded = frames.of_location.take(rows.values)
    whole = Ragged(expanded.offsets[rows.offsets], expanded.values)
    names, objects, stacks = [], [], []
    for row in whole.rows():
        last = int(row[-1]) if len(row) else -1
        names.append(frames.name[last] if len(row) else "")
        objects.append(frames.object[last] if len(row) else "")
        stacks.append(";".join(frames.name[frame] for frame in row.tolist()))
    return names, objects, stacks


def _texts(values: Sequence[str]) -> AnyArray:
    column: AnyArray = np.empty(len(values), object)
    column[:] = list(values)
    return column


def _names(inputs: Path | Sequence[Path]) -> list[str]:
    return [fspath(inputs)] if isinstance(inputs, str | PathLike) else [fspath(each) for each in inputs]
