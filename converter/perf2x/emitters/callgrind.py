"""Callgrind's profile format, for KCachegrind, QCachegrind and callgrind_annotate.

Source of truth: docs/cl-format.html of Valgrind, ``read_input_file`` of callgrind_annotate, and
``CachegrindLoader::loadInternal`` of KCachegrind. A function is::

    ob=(1) /usr/bin/prog        the first use of a name gives it a number
    fl=(1) prog.c
    fn=(1) main
    12 500                      line, then its self cost, a column for each event
    cob=(1)
    cfi=(1)
    cfn=(2) work
    calls=3 0                   number of calls, line of the called function
    14 2000                     line of the call, then its inclusive cost

KCachegrind runs objdump to show code, so addresses are as objdump prints them. Readers sum the calls to a function as
its inclusive cost. So each stack counts only the outermost call of a recursive function, and thread names are functions
that call the outermost frames.
"""

import re
from collections.abc import Iterator
from typing import Annotated, BinaryIO

import numpy as np

from perf2x.base.columnar import (
    I64,
    ListArray,
    arange,
    argsort,
    as_int64,
    as_intp,
    begins_run,
    flatnonzero,
    group_rows,
    minus_ones,
    number_keys,
    repeat,
    row_batches,
    row_numbers,
    row_slices,
    sum_at,
    sum_rows,
    unique,
    zeros,
)
from perf2x.emitters.flame.picture_title import heading
from perf2x.errors import SettingError
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.printable_text import base_name, one_line
from perf2x.model.profile import (
    Profile,
    View,
    expand,
    lines_outermost_first,
    location_frames,
    merge_stacks,
    paths,
    plain_names,
    with_synthetic_frames,
)
from perf2x.model.setting import Setting

_MAX_EVENTS = 200
"""MaxRealIndexValue in libcore/costitem.h of KCachegrind, which rejects files with more events."""
# frames whose calls are summed together, and rows that are written together
_FRAMES_AT_ONCE, _ROWS_AT_ONCE = 1 << 20, 1 << 12
_HEADER = """\
# callgrind format
version: 1
creator: perf2x
cmd: {command}
desc: Calls: estimated, because samples do not show them: the number of samples with the call
desc: Recursion: calls of functions that are already in the stack are left out
positions: {positions}
{names}events: {identifiers}
summary: {sums}
"""


class Callgrind(Format):
    """Callgrind's profile: costs of functions, lines and calls, a column for each event; for KCachegrind."""

    suffix = ".callgrind"

    instructions: Annotated[
        bool, Setting("Also write addresses of instructions, for KCachegrind's view of machine code.")
    ] = False

    @property
    def needs(self) -> Needs:
        """Sums by thread name are needed, and the objects' code if instructions are written."""
        listing = ListingOptions(hottest=0, instruction_addresses=True) if self.instructions else None
        return Needs(threads=False, features=(ListingSettings(listing),), viewer="open it: kcachegrind {0}")

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write function by function: the cost of each line, then the costs of the calls on it."""
        events = unique(profile.samples.event).tolist()
        if len(events) > _MAX_EVENTS:
            raise SettingError(f"KCachegrind shows {_MAX_EVENTS} events, not {len(events):,}; choose with ", "events")
        events.sort(key=lambda row: (row != profile.default_event, row))
        positions, position_format = ("instr line", "{0:#x} {1}") if self.instructions else ("line", "{1}")
        out.write(_header(profile, events, positions).encode())
        out.writelines(map(str.encode, _CallGraph(profile, position_format).text_pieces(events)))


def _header(profile: Profile, events: list[int], positions: str) -> str:
    names = [one_line(name) for name in plain_names(profile.events)]
    identifiers = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in names]
    sums = sum_at(profile.samples.event, profile.samples.value, len(names))
    for row in events:  # identifiers must be distinct and begin with a letter
        if identifiers.count(identifiers[row]) > 1 or not identifiers[row][:1].isalpha():
            identifiers[row] = f"event{row}_{identifiers[row]}"
    return _HEADER.format(
        command=heading(profile),
        positions=positions,
        names="".join(f"event: {identifiers[row]} : {names[row]} ({profile.events[row].unit})\n" for row in events),
        identifiers=" ".join(identifiers[row] for row in events) or "none",
        sums=" ".join(map(str, sums[events].tolist())) or "0",
    )


class _CallGraph:
    """The call graph between the positions of a profile: a position is a function, file, line and instruction."""

    def __init__(self, profile: View, position_format: str) -> None:
        self._position_format, strings = position_format, profile.strings
        root_names, self._thread_roots = number_keys(
            f"[thread {strings[row]}]" for row in profile.threads.comm.tolist()
        )
        self._profile, first_root = with_synthetic_frames(profile, root_names)
        # functions: distinct pairs of name and object, and (frames,) the function of each frame
        frames, functions = location_frames(self._profile), self._profile.functions
        pairs, function = number_keys(zip(frames.name, frames.object, strict=True))
        self._names = [name for name, _ in pairs]
        # (functions,) an object path and a source file; a known file wins, because it is assigned last
        objects, files = zeros((2, len(pairs)))
        objects[function] = np.append(profile.mappings.filename, 0)[frames.mapping]
        file = as_int64(np.append(functions.filename, 0)[frames.function])
        unknown_first = argsort(file > 0)
        files[function[unknown_first]] = file[unknown_first]
        self._objects, self._files = objects.tolist(), files.tolist()
        file = np.where(file > 0, file, files[function])
        # distinct rows of function, file, line and instruction among the frames of all locations
        frame = frames.of_location.values
        line = np.append(self._profile.locations.line_number, 0)[lines_outermost_first(self._profile.locations)[0]]
        address = np.zeros(len(self._profile.locations), np.uint64)
        if profile.listings is not None and profile.listings.instruction_addresses is not None:
            address[: len(profile.locations)] = profile.listings.instruction_addresses
        instruction = repeat(address, frames.of_location.lengths)
        first, position = group_rows([function[frame], file[frame], line, instruction])
        self._function, self._file, self._line = function[frame][first], file[frame][first], line[first]
        self._address = instruction[first]
        self._location_positions = ListArray(frames.of_location.offsets, position)
        self._root_positions = position[frames.of_location.offsets[first_root] :]
        self._numbers: dict[str, dict[str | int, int]] = {"ob": {}, "fl": {}, "fn": {}}
        self._written: dict[int, list[str]] = {}

    def _costs(self) -> list[I64]:
        """Return columns: position, called function (−1 for self cost), event, summed value, number of samples."""
        samples, has_final_roots = self._profile.samples, self._profile.has_final_roots
        stacks = expand(self._profile.stacks, self._location_positions)
        # the tree's groups (key -1) are thread names
        tree, node = merge_stacks(stacks, arange(len(self._line)), samples.stack, self._thread_roots[samples.thread])
        tree.key[tree.key < 0] = self._root_positions[: np.count_nonzero(tree.key < 0)]
        (node, event), values = sum_rows([node, samples.event], [samples.value, samples.count])
        keys, sums = sum_rows([tree.key[node], minus_ones(len(node)), event], values)
        for batch in row_batches(tree.depth[node] + 1, _FRAMES_AT_ONCE):
            path = paths(tree.parent, tree.depth, node[batch], outermost_first=True)
            row_in_batch, position = row_numbers(path.lengths), tree.key[path.values]
            function = self._function[position]
            # the row of a function's outermost frame in ``path.values``; the row before has the caller
            called_frame, _ = group_rows([row_in_batch, function])
            # thread names have no caller, nor do roots that the user chose
            called_frame = called_frame[tree.depth[path.values[called_frame]] > has_final_roots]
            row = batch[row_in_batch[called_frame]]
            calls = [position[called_frame - 1], function[called_frame], event[row]]
            keys, sums = sum_rows(
                [np.append(*pair) for pair in zip(keys, calls, strict=True)],
                [np.append(total, column[row]) for total, column in zip(sums, values, strict=True)],
            )
        return [*keys, *sums]

    def text_pieces(self, events: list[int]) -> Iterator[str]:
        position, callee, event, value, count = self._costs()
        event_column = zeros(max(events, default=-1) + 1)
        event_column[events] = arange(len(events))
        # a row of costs is a run of equal position and callee
        begins = np.append(flatnonzero(begins_run(position, callee)), len(position))
        for part in row_slices(len(begins) - 1, _ROWS_AT_ONCE):
            first, entries = begins[part], slice(begins[part.start], begins[part.stop])
            costs = zeros((len(first), len(events)))
            costs[row_numbers(np.diff(begins[part.start : part.stop + 1])), event_column[event[entries]]] = value[
                entries
            ]
            samples, row_position = np.add.reduceat(count[entries], as_intp(first - first[0])), position[first]
            rows = np.stack(
                [
                    self._function[row_position],
                    self._file[row_position],
                    self._line[row_position],
                    callee[first],
                    samples,
                ],
                1,
            )
            yield "".join(self._lines(rows.tolist(), self._address[row_position].tolist(), costs.tolist()))

    def _lines(self, rows: list[list[int]], addresses: list[int], costs: list[list[int]]) -> Iterator[str]:
        last_function = last_file = -1
        for (function, file, line, callee, samples), address, row_costs in zip(rows, addresses, costs, strict=True):
            if function != last_function:
                last_function, last_file = function, self._files[function]
                yield "ob={}\nfl={}\nfn={}\n".format(*self._numbered_function(function))
            if file != last_file:
                last_file = file
                yield f"fi={self._numbered_name('fl', file, self._profile.strings[file])}\n"
            if callee >= 0:
                names, start = self._numbered_function(callee), self._position_format.format(0, 0)
                yield "cob={}\ncfi={}\ncfn={}\ncalls={} {}\n".format(*names, max(samples, 1), start)
            yield f"{self._position_format.format(address, line)} {' '.join(map(str, row_costs))}\n"

    def _numbered_function(self, function: int) -> list[str]:
        if function in self._written:
            return self._written[function]
        strings, file = self._profile.strings, self._files[function]
        path = strings[self._objects[function]]
        path = path if path.startswith("/") else base_name(path)
        names = (("ob", path, path), ("fl", file, strings[file]), ("fn", function, self._names[function]))
        # later calls return the second round, which has only numbers
        numbered, self._written[function] = ([self._numbered_name(*name) for name in names] for _ in range(2))
        return numbered

    def _numbered_name(self, kind: str, key: str | int, name: str) -> str:
        """Return ``(3)``, or ``(3) name`` on first use; ``key`` identifies the name among those of its kind."""
        numbers = self._numbers[kind]
        if key in numbers:
            return f"({numbers[key]})"
        numbers[key] = len(numbers) + 1
        return f"({numbers[key]}) {one_line(name) or '???'}"
