"""A flame graph in one HTML file: no network, nothing to install, suitable as a CI artifact.

The page is in page/. This module writes its data as one JSON object, in which large tables are columns.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, BinaryIO, Literal

import numpy as np

from perf2x.base.columnar import I64, arange, as_int64, narrow, sum_at
from perf2x.base.diagnostics import losses_in_comments
from perf2x.emitters.encoding.json_encoder import JsonObject, json_bytes, json_table
from perf2x.emitters.flame.html_tables import burst_table, lane_table, moment_table, row_table, summed_samples
from perf2x.emitters.flame.listing_data import listing_data
from perf2x.emitters.flame.page_template import field, table, write_page
from perf2x.emitters.flame.picture_title import facts, heading
from perf2x.emitters.timeline.tracks import UNKNOWN_ID, Tracks, track_names, tracks_of
from perf2x.model.filters.frame_presets import RUNTIMES
from perf2x.model.plugin_options import FINISHED, LISTINGS, Format, Needs
from perf2x.model.printable_text import one_line
from perf2x.model.profile import (
    FrameTree,
    LocationFrames,
    Profile,
    View,
    are_jit,
    expand,
    full_names,
    location_frames,
    merge_stacks,
)
from perf2x.model.profile.selected_columns import offered_columns, selected_columns
from perf2x.model.setting import Setting


class Html(Format):
    """Interactive flame graph in one HTML file: no network, opens anywhere, keeps as a CI artifact."""

    suffix = ".html"

    title: Annotated[
        str, Setting("Heading of the page; default: the recorded command, or the busiest process.", ("--title",))
    ] = ""
    direction: Annotated[
        Literal["icicle", "flame"],
        Setting("Where roots are at first: on top (icicle) or at the bottom (flame)."),
    ] = "icicle"
    max_moments: Annotated[
        int, Setting("Keep sums instead of stacks over time if there are more samples than this.", least=0)
    ] = 500_000
    columns: Annotated[
        tuple[str, ...],
        Setting(
            "Columns of functions and lines to show at first: events, all, ipc, mpki, mispredicts, A/B.",
            ("--column",),
        ),
    ] = ()
    compress: Annotated[
        bool, Setting("Keep the data gzip-compressed in the page; no: plain JSON, three times as large.")
    ] = True

    @property
    def needs(self) -> Needs:
        """Samples with times, CPUs and latency, as far as recorded; all events if ``--column`` is given."""
        return Needs(
            timeline=True,
            columns=frozenset({"cpu", "latency", *["events"] * bool(self.columns)}),
            full_names=True,
            honours=FINISHED | {LISTINGS},
            viewer="open it in any browser",
        )

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write the page; the data is encoded while it is computed."""
        write_page(self.title or heading(profile), self._data(profile), out, compress=self.compress)

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Report if stacks over time are not in the page because there are too many samples."""
        return (_no_moments(profile, self.max_moments),) if len(profile.samples) > self.max_moments else ()

    def _data(self, profile: View) -> Iterator[bytes]:
        frames = location_frames(profile)
        samples = profile.samples
        tree, node = merge_stacks(expand(profile.stacks, frames.of_location), arange(len(frames)), samples.stack)
        node -= 1  # row 0 is the root, which the page knows as -1
        tracks, sample_tracks = tracks_of(profile)
        sample_tracks = narrow(sample_tracks)
        strings: dict[str, int] = {}  # index of each string in the page's table of strings
        yield b"{" + field("facts", facts(profile))
        yield field("elapsed", profile.meta.duration_ns) + field("losses", losses_in_comments(profile.meta.comments))
        advice = [
            (advice.about, one_line(advice.sentence())) for advice in profile.meta.advice if not advice.concerns_dates
        ]
        yield field("advice", advice)
        yield (
            field("runtimes", RUNTIMES)
            + field("direction", self.direction)
            + field("defaultEvent", profile.default_event)
        )
        if len(columns := _column_table(profile, self.columns)) > 1:
            yield field("columns", columns)
        yield field("events", event_table(profile)) + field("threads", _thread_rows(profile, tracks))
        yield table("frames", frame_table(profile, frames, strings, arange(len(frames))))
        yield table("nodes", node_table(tree))
        summed = summed_samples(profile, sample_tracks, node)
        yield table("rows", row_table(profile, sample_tracks, node, summed))
        if samples.time is None or len(samples) > self.max_moments:
            yield field("noMoments", _no_moments(profile, self.max_moments)) + field("moments", None)
            del tree, node, summed  # free memory before the next columns of all samples
            if samples.time is not None:
                yield table("lanes", lane_table(profile, sample_tracks))
        else:
            yield table("moments", moment_table(profile, sample_tracks, node))
            yield table("bursts", burst_table(profile, sample_tracks, summed))
        if profile.listings is not None:
            yield field("listings", listing_data(profile.listings))
        yield b'"strings":' + json_bytes(list(strings)) + b"}"


def event_table(profile: Profile) -> list[JsonObject]:
    """Return name, unit and number of samples of each event."""
    counts = sum_at(profile.samples.event, profile.samples.count, len(profile.events))
    return [
        {"name": one_line(event.name), "unit": event.unit, "samples": count}
        for event, count in zip(profile.events, counts.tolist(), strict=True)
    ]


def _column_table(profile: Profile, names: Sequence[str]) -> list[JsonObject]:
    """Return the columns (events, and ratios) that the page's table of functions can show.

    ``names`` are shown at first.
    """
    selected = selected_columns(profile, names)
    return [
        {
            "name": one_line(column.name), "events": column.events, "factor": column.factor,
            "exact": profile.events[column.events[-1]].is_count, "shown": column in selected,
        }
        for column in dict.fromkeys([*offered_columns(profile), *selected])
    ]  # fmt: skip


def _thread_rows(profile: Profile, tracks: Tracks) -> list[JsonObject]:
    ids = zip(tracks.pid.tolist(), tracks.tid.tolist(), strict=True)
    return [
        {
            "name": one_line(name),
            "process": one_line(process),
            "pid": -1 if pid == UNKNOWN_ID else pid,
            "tid": -1 if tid == UNKNOWN_ID else tid,
        }
        for (name, process), (pid, tid) in zip(track_names(profile, tracks), ids, strict=True)
    ]


def frame_table(profile: Profile, frames: LocationFrames, strings: dict[str, int], rows: I64) -> Iterator[bytes]:
    """Yield columns of the frames in ``rows``; new strings get an index in ``strings``."""

    def string_indices(names: Sequence[str]) -> I64:
        index = {name: strings.setdefault(one_line(name), len(strings)) for name in dict.fromkeys(names)}
        return as_int64([index[name] for name in names])

    frame_rows, full = rows.tolist(), full_names(profile, frames)
    function = frames.function[rows]
    function_files = [profile.strings[row] for row in profile.functions.filename]
    yield from json_table(
        [
            ("name", string_indices([frames.name[row] for row in frame_rows])),
            ("full", string_indices([full[row] for row in frame_rows])),
            ("object", string_indices([frames.object[row] for row in frame_rows])),
            ("file", string_indices([function_files[row] if row >= 0 else "" for row in function.tolist()])),
            ("mode", frames.mode[rows]),
            ("inlined", frames.inlined[rows].astype(np.uint8)),
            ("resolved", (function >= 0).astype(np.uint8)),
            ("jit", are_jit(profile, frames)[rows].astype(np.uint8)),
        ]
    )


def node_table(tree: FrameTree) -> Iterator[bytes]:
    """Yield columns of the tree without its root (row 0), which the page knows as −1."""
    yield from json_table([("parent", tree.parent[1:] - 1), ("frame", tree.key[1:])])


def _no_moments(profile: Profile, limit: int) -> str:
    if profile.samples.time is None:
        return "The recording has no times."
    return f"Stacks over time are left out: {len(profile.samples):,} samples exceed max_moments={limit:,}"
