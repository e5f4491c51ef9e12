"""Profiles sent to a stand-in for Parca, which holds requests against what Parca refuses."""

import gzip
import json
import re
from base64 import b64decode
from typing import Any

import pytest

from perf2x.base.errors import OptionError
from perf2x.cli.send.destination import destination
from perf2x.cli.send.parca import series_labels, write_raw_request
from perf2x.emitters.pprof import profile_pb2
from perf2x.model.profile.profile import Meta
from perf2x.plugins.contracts import ProfileBuilder
from tests.support.command import perf2x, recording
from tests.support.outputs import emitted, read_pprof
from tests.support.stand_in_server import Answer, stand_in

JSON = {"Content-Type": "application/json"}
LABEL, WORD = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*"), re.compile(r"[a-zA-Z0-9_]+")
DATED = ("--start-time", "2026-11-21T10:00:05Z")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")


def taken(body: bytes) -> tuple[dict[str, str], Any]:
    """Labels and pprof of a request, checked as Parca's normalizer and its gateway's JSON do."""
    request = json.loads(body)
    assert request.keys() == {"series"}
    (series,) = request["series"]
    assert series.keys() == {"labels", "samples"}
    assert series["labels"].keys() == {"labels"}
    pairs = [(one.pop("name"), one.pop("value"), one) for one in series["labels"]["labels"]]
    assert not any(rest for _, _, rest in pairs)
    labels = {name: value for name, value, _ in pairs}
    assert len(labels) == len(pairs)
    assert all(LABEL.fullmatch(name) for name in labels)
    (sample,) = series["samples"]
    assert sample.keys() == {"rawProfile"}
    pprof = profile_pb2.Profile.FromString(gzip.decompress(b64decode(sample["rawProfile"], validate=True)))
    for entries in (pprof.mapping, pprof.location, pprof.function):
        assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    assert pprof.string_table[0] == ""
    assert all(len(sample.value) == len(pprof.sample_type) for sample in pprof.sample)
    for kind in (*pprof.sample_type, pprof.period_type):  # each is a part of a selector of PromQL
        parts = labels["__name__"], pprof.string_table[kind.type], pprof.string_table[kind.unit]
        assert all(WORD.fullmatch(part) for part in parts)
    return labels, pprof


def test_a_profile_is_what_parca_takes() -> None:
    token = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20s3cret"}
    tags = ("--tag", "service.name=shop", "--tag", "2nd=b")
    with stand_in(Answer(200, b"{}", JSON)) as server:
        words = ("convert", recording("calls"), "--no-symbols", "--send", f"parca+{server.url}", *DATED, *tags)
        ran = perf2x(*words, env=token)
    assert ran.code == 0, ran.err
    assert f"sent pprof to {server.url}/api/profiles/writeraw" in ran.err
    (request,) = server.requests
    assert request.path == "/api/profiles/writeraw"
    known = {name.lower(): value for name, value in request.headers.items()}
    assert known["content-type"] == "application/json"
    assert known["authorization"] == "Bearer s3cret"
    assert "content-encoding" not in known
    labels, pprof = taken(request.body)
    assert labels == {"__name__": "perf", "service_name": "shop", "_2nd": "b"}
    types = [pprof.string_table[kind.type] for kind in pprof.sample_type]
    assert types == ["samples", "cpu_clock"]
    assert pprof.string_table[pprof.default_sample_type] == "cpu_clock"
    assert pprof.time_nanos == 1795255205 * 10**9


def test_each_event_is_a_series_of_its_own() -> None:
    with stand_in(Answer(200, b"{}", JSON)) as server:
        words = ("convert", recording("events"), "--no-symbols", "--per-event", "--send", f"parca+{server.url}")
        assert perf2x(*words, *DATED).code == 0
    assert len(server.requests) > 1
    assert len({tuple(taken(one.body)[1].string_table) for one in server.requests}) == len(server.requests)


def test_it_needs_the_time_of_day() -> None:
    with stand_in(Answer(200, b"{}", JSON)) as server:
        ran = perf2x("convert", recording("calls"), "--no-symbols", "--send", f"parca+{server.url}")
    assert (ran.code, server.requests) == (2, [])
    assert "--start-time" in ran.said


def test_what_parca_refuses_is_said() -> None:
    refusal = b'{"code":3,"message":"invalid label name: x","details":[]}'
    with stand_in(Answer(400, refusal, JSON)) as server:
        ran = perf2x("convert", recording("calls"), "--no-symbols", "--send", f"parca+{server.url}", *DATED)
    assert (ran.code, len(server.requests)) == (1, 1)
    assert "answered 400: invalid label name: x" in ran.said


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("parca+https://parca", "https://parca/api/profiles/writeraw"),
        ("parca+http://[::1]:7070/", "http://[::1]:7070/api/profiles/writeraw"),
        ("parca+https://gate/parca/api/profiles/writeraw", "https://gate/parca/api/profiles/writeraw"),
        ("parca+host:7070", "https://host:7070/api/profiles/writeraw"),
    ],
)
def test_addresses(text: str, url: str) -> None:
    assert destination(text, "pprof").url == url


def test_parca_takes_nothing_but_pprof() -> None:
    with pytest.raises(OptionError, match="takes pprof, not otlp"):
        destination("parca+https://parca", "otlp")


def test_labels_of_one_name_are_one_and_a_tag_may_name_the_profile() -> None:
    assert series_labels({"a.b": "1", "a_b": "2", "ä": "3", "__name__": "web"}) == {
        "a_b": "2", "_": "3", "__name__": "web",
    }  # fmt: skip
    profile = ProfileBuilder().build(meta=Meta(wall_start_ns=1))
    assert json.loads(write_raw_request(b"pprof", profile))["series"][0]["labels"]["labels"] == [
        {"name": "__name__", "value": "perf"}
    ]


def test_names_that_fall_together_as_identifiers_stay_apart() -> None:
    builder = ProfileBuilder()
    for number, name in enumerate(("a_b_2", "a-b", "a:b")):
        builder.sample([builder.function("f")], builder.thread(), builder.event(name, "cache-lines"), number + 1)
    found = read_pprof(emitted(builder.build(), "pprof", names="identifiers"))
    types = [found.string_table[kind.type] for kind in found.sample_type]
    assert len(set(types)) == len(types) == 4
    assert all(WORD.fullmatch(name) for name in types)
    assert {found.string_table[kind.unit] for kind in found.sample_type} == {"count", "cache_lines"}
