"""Flags of output formats, one file per event, and the command that pprof runs, on a recording of the corpus."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.cli.app import app, command
from perf2x.cli.commands import perf_to_profile
from perf2x.emitters.pprof import profile_pb2
from perf2x.kernel.registry import EMITTERS, load_emitter
from perf2x.model.setting import settings_in

CORPUS = Path(__file__).parents[2] / "corpus"
EVENTS = CORPUS / "events/perf.data"
CALLS = CORPUS / "calls/perf.data"


def run(*words: object) -> str:
    ran = CliRunner().invoke(app, [str(word) for word in words])
    assert ran.exit_code == 0, ran.output
    return ran.output


def profile(path: Path) -> profile_pb2.Profile:
    return profile_pb2.Profile.FromString(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize(
    "name",
    [
        *("chrome", "html", "otlp"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("pprof", "collapsed", "speedscope", "svg", "firefox", "perfetto")
        ),
    ],
)
def test_every_format_from_a_recording_twice_the_same(tmp_path, name) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for target in (first, second):
        run("convert", CALLS, "--to", name, "-o", target, "-q")
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 500


def test_per_event_writes_a_file_for_each_and_loses_nothing(tmp_path) -> None:
    run("convert", EVENTS, "-o", tmp_path / "all.folded", "--event", "all", "--value", "samples", "-q")
    stats = tmp_path / "stats.json"
    words = ("--per-event", "--value", "samples", "--stats", stats, "-q")
    run("convert", EVENTS, "-o", tmp_path / "one.folded", *words)
    files = sorted(tmp_path.glob("one.*.folded"))
    assert len(files) > 1
    assert sorted(json.loads(stats.read_text())["output"]["paths"]) == [*map(str, files)]

    def total(file: Path) -> int:
        return sum(int(line.rsplit(" ", 1)[1]) for line in file.read_text().splitlines())

    assert sum(map(total, files)) == total(tmp_path / "all.folded")


def test_per_event_cannot_be_one_stream() -> None:
    ran = CliRunner().invoke(app, ["convert", str(EVENTS), "--to", "collapsed", "-o", "-", "--per-event", "-q"])
    assert ran.exit_code == 2


def test_label_cpu_reaches_the_profile(tmp_path) -> None:
    run("convert", CALLS, "-o", tmp_path / "p.pb.gz", "--label", "cpu,mode", "-q")
    parsed = profile(tmp_path / "p.pb.gz")
    keys = {parsed.string_table[label.key] for sample in parsed.sample for label in sample.label}
    assert "mode" in keys
    assert keys <= {"cpu", "mode"}


def test_flags_that_the_format_does_not_have_are_usage_errors(tmp_path) -> None:
    for words, said in {
        ("--set", "max_samples=3"): "collapsed has no option --set max_samples;",
        ("--max-samples", "3"): "there is no option --max-samples; --set max_samples=… is an option of pprof",
        ("--label", "pid"): "there is no option --label; --label is an option of otlp, pprof",
    }.items():
        ran = CliRunner().invoke(app, ["convert", str(CALLS), "-o", str(tmp_path / "x.folded"), *words])
        assert (ran.exit_code, said in ran.output) == (2, True), ran.output


def test_formats_lists_options() -> None:
    listed = run("formats", "-v")
    assert "    --label  " in listed and "    --for  " in listed and "    --set placeholders=" in listed
    assert "--set" not in run("formats")


@pytest.mark.parametrize(("name", "field", "option"), [
    ("pprof", "reader", "--for"), ("html", "columns", "--column"), ("otlp", "label", "--label"),
    ("perf-script", "hide-call-graph", "--hide-call-graph"),
    ("collapsed", "value", "--value"), ("collapsed", "event", "--event"), ("svg", "event", "--event"),
    ("speedscope", "event", "--event"), ("bolt", "object", "--object"),
])  # fmt: skip
def test_what_has_an_option_is_not_set_otherwise(tmp_path, name, field, option) -> None:
    ran = CliRunner().invoke(app, ["convert", str(CALLS), "-t", name, "-o", f"{tmp_path}/x", "--set", f"{field}=x"])
    assert (ran.exit_code, ran.output) == (2, f"perf2x: --set {field.replace('-', '_')}=…: use the option {option}\n")


def test_no_option_of_a_field_is_one_of_the_command_with_another_meaning() -> None:
    spelled = {word for one in command("convert").params for word in (*one.opts, *one.secondary_opts)}
    names = {one.name for one in command("convert").params}
    for name in entry_points_by_name(EMITTERS):
        for entry in settings_in(load_emitter(name)).values():
            taken = spelled.intersection(entry.names)
            assert taken <= {"--event", "--value"}, (name, entry.name)
            assert taken or not entry.names or entry.name not in names, (name, entry.name)


def test_help_has_the_options_of_the_format_that_was_typed() -> None:
    assert "Options of pprof" in (shown := run("convert", "--help-all")) and "--for <any|go-pgo>" in shown
    assert "--title" not in shown and "--title" in run("convert", "-o", "x.html", "--help-all")
    assert "--for" not in run("convert", "--help")


class TestPerfToProfile:
    def run(self, monkeypatch, *words: object) -> int:
        monkeypatch.setattr("sys.argv", ["perf_to_profile", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            perf_to_profile.main()
        return int(ended.value.code or 0)

    def test_as_pprof_calls_it(self, monkeypatch, tmp_path) -> None:
        target = tmp_path / "out.pb"
        target.write_text("what pprof's temporary file holds")
        with target.open("rb") as kept:  # pprof reads through the handle it had before
            assert self.run(monkeypatch, "-i", CALLS, "-o", target, "-f") == 0
            parsed = profile_pb2.Profile.FromString(gzip.decompress(kept.read()))
        assert len(parsed.sample) > 0

    def test_a_new_file(self, monkeypatch, tmp_path) -> None:
        assert self.run(monkeypatch, "-i", CALLS, "-o", tmp_path / "new.pb") == 0
        assert len(profile(tmp_path / "new.pb").sample) > 0

    def test_the_input_is_never_overwritten(self, monkeypatch, tmp_path) -> None:
        recording = tmp_path / "perf.data"
        recording.write_bytes(CALLS.read_bytes())
        assert self.run(monkeypatch, "-i", recording, "-o", recording, "-f") == 2
        assert recording.read_bytes() == CALLS.read_bytes()

    def test_without_f_nothing_is_overwritten(self, monkeypatch, tmp_path, capsys) -> None:
        target = tmp_path / "out.pb"
        target.write_text("old")
        assert self.run(monkeypatch, "-i", CALLS, "-o", target, "-j") == 1
        assert target.read_text() == "old"
        assert "exists; -f overwrites it" in capsys.readouterr().err
