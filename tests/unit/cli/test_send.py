"""Profiles sent to a stand-in server on the loopback interface."""

import gzip
import json
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.errors import OptionError, OutputError
from perf2x.cli.send.destination import Destination, destination, for_profile
from perf2x.cli.send.http_client import MOST_SENT, Clock, post
from perf2x.cli.send.send_settings import SendSettings, send_settings
from perf2x.cli.send.server_answer import reason, rejected
from perf2x.emitters.pprof import profile_pb2
from perf2x.model.profile.profile import Meta
from perf2x.plugins.contracts import ProfileBuilder
from tests.support.command import perf2x, recording
from tests.support.otlp_profiles import message_of, read_profiles
from tests.support.stand_in_server import CERTIFICATE, Answer, stand_in

service: Any = pytest.importorskip("opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2")

CONVERT = ("convert", recording("calls"), "--no-symbols")
PLAIN = SendSettings({}, 60.0, True, "", "", "")
JSON = {"Content-Type": "application/json; charset=utf-8"}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")


class FakeClock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.time, self.pauses = 1000.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds

    def clock(self) -> Clock:
        return Clock(lambda: self.time, self.sleep, lambda: self.time, lambda: 0.5)


def sent(url: str, clock: FakeClock | None = None, settings: SendSettings = PLAIN, name: str = "otlp") -> str:
    return post(b"profile", destination(url, name), settings, (clock or FakeClock()).clock())


def partial(rejected_profiles: int, message: str) -> bytes:
    success = service.ExportProfilesPartialSuccess(rejected_profiles=rejected_profiles, error_message=message)
    body: bytes = service.ExportProfilesServiceResponse(partial_success=success).SerializeToString()
    return body


def test_what_is_sent_is_the_request_of_the_protocol_and_the_bytes_of_the_file(tmp_path: Path) -> None:
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20s3cret, X-Scope-OrgID = shop"}
    with stand_in() as server:
        ran = perf2x(*CONVERT, "--send", server.url, "--tag", "service.name=shop", env=headers)
    assert ran.code == 0, ran.err
    assert f"sent otlp to {server.url}/v1development/profiles" in ran.err
    assert "s3cret" not in ran.err
    (request,) = server.requests
    assert request.path == "/v1development/profiles"
    known = {name.lower(): value for name, value in request.headers.items()}
    assert {name: known[name] for name in ("content-type", "content-encoding", "authorization", "x-scope-orgid")} == {
        "content-type": "application/x-protobuf", "content-encoding": "gzip",
        "authorization": "Bearer s3cret", "x-scope-orgid": "shop",
    }  # fmt: skip
    perf2x(*CONVERT, "--to", "otlp", "-o", tmp_path / "p.otlp.pb", "--tag", "service.name=shop", "-q")
    assert request.body == (tmp_path / "p.otlp.pb").read_bytes()
    asked = service.ExportProfilesServiceRequest.FromString(request.body)
    assert asked.SerializeToString() == message_of(request.body).SerializeToString()
    assert read_profiles(request.body)[0].resource["service.name"] == "shop"


def test_json_is_sent_as_json() -> None:
    with stand_in(Answer(headers=JSON, body=b'{"partialSuccess":{}}')) as server:
        ran = perf2x(*CONVERT, "--to", "otlp-json", "--send", server.url, "--quiet")
    assert (ran.code, ran.err) == (0, "")
    (request,) = server.requests
    assert request.headers["Content-Type"] == "application/json"
    assert read_profiles(request.body)


def test_pprof_goes_to_pyroscope_with_its_name_and_time() -> None:
    tags = ("--tag", "service.name=shop", "--tag", "run=a,b{1}")
    with stand_in() as server:
        words = ("--to", "pprof", "--send", server.url, "--start-time", "2026-11-21T10:00:05Z", *tags)
        assert perf2x(*CONVERT, *words).code == 0
    (request,) = server.requests
    parts = urlsplit(request.path)
    assert parts.path == "/ingest"
    asked = {key: value for key, (value,) in parse_qs(parts.query).items()}
    assert int(asked.pop("until")) > int(asked.pop("from")) == 1795255205
    assert asked == {"name": "shop{run=a_b_1_}", "format": "pprof", "spyName": "perf2x"}
    assert "Content-Encoding" not in request.headers, "pprof is compressed by itself"
    assert profile_pb2.Profile.FromString(gzip.decompress(request.body)).sample


def test_each_event_is_a_request_of_its_own() -> None:
    with stand_in() as server:
        words = ("convert", recording("events"), "--no-symbols", "--per-event", "--send", server.url)
        assert perf2x(*words).code == 0
    types = [[one.sample_type[0] for one in read_profiles(request.body)] for request in server.requests]
    assert len(types) > 1
    assert all(len(one) == 1 for one in types)


def test_tls_is_the_default_and_the_certificate_is_checked() -> None:
    with stand_in(tls=True) as server:
        address = server.url.removeprefix("https://")
        ran = perf2x(*CONVERT, "--send", address)
        assert ran.code == 1
        assert f"cannot send to {server.url}/v1development/profiles: " in ran.said.replace("profiles :", "profiles:")
        assert "CERTIFICATE_VERIFY_FAILED" in ran.err
        assert not server.requests
        trusted = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(CERTIFICATE)}
        assert perf2x(*CONVERT, "--send", address, env=trusted).code == 0
        assert len(server.requests) == 1


def test_a_server_that_is_busy_is_asked_again() -> None:
    clock = FakeClock()
    date = {"Retry-After": formatdate(1000.0 + 1.0 + 7.0 + 9.0, usegmt=True)}
    answers = (Answer(503), Answer(429, headers={"Retry-After": "7"}), Answer(502, headers=date), Answer(504), Answer())
    with stand_in(*answers) as server:
        assert sent(server.url, clock) == ""
    assert len(server.requests) == 5
    assert clock.pauses == [1.0, 7.0, 9.0, 8.0]
    assert len({request.body for request in server.requests}) == 1


def test_pauses_double_and_the_time_is_limited() -> None:
    clock = FakeClock()
    with (
        stand_in(Answer(503, b"\x12\x04full")) as server,
        pytest.raises(OutputError, match=r"answered 503 after 6 attempts: full$"),
    ):
        sent(server.url, clock)
    assert clock.pauses == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert clock.time < 1060.0


def test_a_server_that_asks_for_more_time_than_there_is_is_not_waited_for() -> None:
    clock = FakeClock()
    with (
        stand_in(Answer(503, headers={"Retry-After": "61"})) as server,
        pytest.raises(OutputError, match=r"answered 503$"),
    ):
        sent(server.url, clock)
    assert clock.pauses == []


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Answer(400, b"\x08\x03\x12\x0bno profiles"), "answered 400: no profiles$"),
        (Answer(400, b'{"message":"no profiles"}', JSON), "answered 400: no profiles$"),
        (Answer(404, b"404 page not found\n", {"Content-Type": "text/plain"}), "answered 404: 404 page not found$"),
        (Answer(413, b"<html>too large", {"Content-Type": "text/html"}), "answered 413$"),
        (Answer(500), "answered 500$"),
        (Answer(302, headers={"Location": "/elsewhere"}), "answered 302$"),
        (Answer(307, headers={"Location": "/elsewhere"}), "answered 307$"),
        (Answer(200, partial(3, "too old\x1b[2J")), r"refused 3 profiles: too old\\x1b\[2J$"),
        (Answer(200, b'{"partialSuccess":{"rejectedProfiles":"2"}}', JSON), "refused 2 profiles$"),
        (Answer(200, bytes((4 << 20) + 1)), "answered more than 4,194,304 bytes"),
    ],
)
def test_an_answer_that_is_final(answer: Answer, complaint: str) -> None:
    clock = FakeClock()
    with stand_in(answer) as server, pytest.raises(OutputError, match=complaint):
        sent(server.url, clock)
    assert (len(server.requests), clock.pauses) == (1, [])


def test_a_remark_of_the_server_is_shown() -> None:
    with stand_in(Answer(200, partial(0, "slow down"))) as server:
        ran = perf2x(*CONVERT, "--send", server.url)
    assert ran.code == 0
    assert "profiles; the server says: slow down" in ran.err


def test_a_refused_profile_is_exit_code_1() -> None:
    with stand_in(Answer(200, partial(1, "too old"))) as server:
        ran = perf2x(*CONVERT, "--send", server.url)
    assert ran.code == 1
    assert ran.said.endswith("refused 1 profiles: too old")


def test_nobody_there_is_tried_again_for_seconds() -> None:
    with stand_in() as server:
        pass
    clock = FakeClock()
    with pytest.raises(OutputError, match=r"cannot send to .* after 3 attempts: .*refused"):
        sent(server.url, clock)
    assert clock.time < 1005.0


def test_a_server_that_never_answers() -> None:
    short = SendSettings({}, 0.2, True, "", "", "")
    with stand_in(silent=True) as server, pytest.raises(OutputError, match=r"no answer in time|timed out"):
        sent(server.url, settings=short)


def test_what_no_server_takes_is_not_sent() -> None:
    with stand_in() as server, pytest.raises(OutputError, match="--per-event"):
        post(bytes(MOST_SENT + 1), destination(server.url, "otlp"), PLAIN, FakeClock().clock())
    assert not server.requests


@pytest.mark.parametrize(
    ("text", "name", "url"),
    [
        ("collector", "otlp", "https://collector/v1development/profiles"),
        ("collector:4318/", "otlp", "https://collector:4318/v1development/profiles"),
        ("http://collector:4318", "otlp-json", "http://collector:4318/v1development/profiles"),
        ("https://gate/otel/v1development/profiles", "otlp", "https://gate/otel/v1development/profiles"),
        ("https://gate/otel/", "otlp", "https://gate/otel/"),
        ("[::1]:4318", "otlp", "https://[::1]:4318/v1development/profiles"),
        ("https://pyroscope:4040", "pprof", "https://pyroscope:4040/ingest"),
        ("https://gate/upload?key=1", "pprof", "https://gate/upload?key=1"),
    ],
)
def test_addresses(text: str, name: str, url: str) -> None:
    assert destination(text, name).url == url


@pytest.mark.parametrize(
    "text",
    ["ftp://host", "https://", "https://user:s3cret@host", "host:port", "https://a b", "http://[::1", "file:///x"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(OptionError) as refused:
        destination(text, "otlp")
    assert "s3cret" not in str(refused.value)


def test_a_query_is_neither_changed_nor_shown() -> None:
    profile = ProfileBuilder().build(meta=Meta(wall_start_ns=10**18))
    with_query = destination("https://pyroscope/ingest?name=shop", "pprof")
    assert for_profile(with_query, profile) == with_query
    assert with_query.shown == "https://pyroscope/ingest"
    other = Destination("https://gate/upload", "application/octet-stream", is_otlp=False)
    assert for_profile(other, profile) == other


def test_variables_for_profiles_win() -> None:
    found = send_settings(
        {
            "OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS": "b=x%2Cy,c=,",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "10000", "OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT": "2500",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none", "OTEL_EXPORTER_OTLP_CERTIFICATE": "ca.pem",
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "c.pem", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "k.pem",
        }
    )  # fmt: skip
    assert found == SendSettings({"b": "x,y", "c": ""}, 2.5, False, "ca.pem", "c.pem", "k.pem")
    assert send_settings({}) == PLAIN


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEADERS", "s3cret"),
        ("HEADERS", "a=1,b c=s3cret"),
        ("HEADERS", "a=s3cret%0d%0ab: c"),
        ("HEADERS", "Content-Type=s3cret"),
        ("TIMEOUT", "10s"),
        ("TIMEOUT", "0"),
        ("COMPRESSION", "zstd"),
    ],
)
def test_variables_that_cannot_be_used(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"OTEL_EXPORTER_OTLP_{name}") as refused:
        send_settings({f"OTEL_EXPORTER_OTLP_{name}": value})
    assert "s3cret" not in str(refused.value)


def test_a_certificate_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    ran = perf2x(*CONVERT, "--send", "host", env={"OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "ca.pem")})
    assert ran.code == 2
    assert "OTEL_EXPORTER_OTLP_CERTIFICATE" in ran.err


def test_without_compression() -> None:
    with stand_in() as server:
        sent(server.url, settings=SendSettings({}, 60.0, False, "", "", ""))
    assert "Content-Encoding" not in server.requests[0].headers
    assert server.requests[0].body == b"profile"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--send", "host", "-o", "x.otlp.pb"), "leave out -o"),
        (("--send", "host", "--to", "collapsed"), "--send takes otlp, otlp-json, pprof, not collapsed"),
        (("--send", "https://user:pw@host"), "no passwords"),
    ],
)
def test_options_that_contradict_it(words: tuple[str, ...], complaint: str) -> None:
    ran = perf2x(*CONVERT, *words)
    assert ran.code == 2
    assert complaint in ran.said


def test_a_file_of_settings_cannot_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with stand_in() as server:
        for text in (f'send = "{server.url}"', f'[convert]\nsend = "{server.url}"'):
            (tmp_path / "perf2x.toml").write_text(text)
            ran = perf2x(*CONVERT, "-q")
            assert ran.code == 2
            assert "send is not taken from a file" in ran.said
    assert not server.requests


def test_stats_name_the_server(tmp_path: Path) -> None:
    with stand_in() as server:
        words = ("--send", f"{server.url}/upload?key=s3cret", "--stats", tmp_path / "stats.json", "-q")
        assert perf2x(*CONVERT, *words).code == 0
    text = (tmp_path / "stats.json").read_text()
    assert f"{server.url}/upload" in text
    assert "s3cret" not in text
    assert json.loads(text)


@given(st.binary(max_size=60), st.sampled_from(["application/x-protobuf", "application/json", "text/plain", ""]))
def test_no_answer_is_trusted(body: bytes, content_type: str) -> None:
    assert rejected(body, content_type)[0] >= 0
    assert len(reason(body, content_type)) <= 300


@pytest.mark.parametrize(("number", "message"), [(0, ""), (1, "x"), (300, "zu groß: 7 > 5"), (2**63 - 1, "x" * 200)])
def test_answers_are_read_as_the_classes_write_them(number: int, message: str) -> None:
    assert rejected(partial(number, message), "application/x-protobuf") == (number, message)
    extended = b"\x1a\x02hi" + partial(number, message) + b"\x20\x07"  # fields of a later version
    assert rejected(extended, "application/x-protobuf") == (number, message)
