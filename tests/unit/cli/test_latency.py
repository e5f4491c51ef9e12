"""``--value latency`` and ``--parallelism`` against what perf 7.2 says of the same recording.

perf report -i clocked.data --stdio -g none --no-children --latency -F latency,overhead,comm,parallelism
"""

import gzip
import json
from pathlib import Path

import pytest

from perf2x.emitters.pprof import profile_pb2
from tests.support.command import folded, perf2x, recording

CLOCKED = Path(__file__).parent / "data" / "clocked.data"
SLEEPERS = CLOCKED.with_name("sleepers.data")
PERF = {
    ("faults", 1): (23.94, 22.37),
    ("read zero", 1): (23.47, 21.93),
    ("compute", 1): (23.00, 21.49),
    ("zufällig", 1): (22.54, 21.05),
    ("zufällig", 2): (2.35, 4.39),
    ("faults", 2): (2.11, 3.95),
    ("compute", 2): (1.41, 2.63),
    ("read zero", 2): (1.17, 2.19),
}
"""Latency and overhead in percent, by thread's name and parallelism."""


def by_thread(*words: object) -> dict[str, dict[str, int]]:
    ran = perf2x("top", CLOCKED, "--no-symbols", "--by", "thread", "--json", "-q", *words)
    assert ran.code == 0, ran.err
    return {row["name"].rpartition(" ")[0]: row for row in json.loads(ran.out)["rows"]}


def test_shares_are_perfs() -> None:
    whole = by_thread("--value", "latency")
    latency, period = (sum(row[name] for row in whole.values()) for name in ("self", "self_period"))
    for level in (1, 2):
        for comm, row in by_thread("--value", "latency", "--parallelism", level).items():
            shares = (100 * row["self"] / latency, 100 * row["self_period"] / period)
            assert shares == pytest.approx(PERF[comm, level], abs=0.0051), (comm, level)


def test_the_table_has_a_column_of_periods() -> None:
    ran = perf2x("top", CLOCKED, "--no-symbols", "--by", "thread", "--value", "latency", "-q")
    assert ran.out.splitlines()[0].startswith("latency:cpu-clock: 228 samples, 712.37 ms in 2.000 s;")
    assert ran.out.splitlines()[1].split() == ["self", "total", "self", "period", "thread"]
    assert "26.1 %  185.62 ms  26.1 %       26.3 %  faults" in ran.out
    by_total = perf2x("top", CLOCKED, "--no-symbols", "--value", "latency", "--sort", "total", "-q").out
    assert by_total.splitlines()[1].split() == ["self", "total", "total", "period", "object", "function"]
    rows = perf2x("top", CLOCKED, "--no-symbols", "--by", "thread", "--value", "latency", "--format", "csv", "-q").out
    assert rows.splitlines()[0] == "event,unit,name,object,self,total,self_period,total_period"


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_format_has_latencies(jobs: int, tmp_path: Path) -> None:
    """The number of processes does not matter."""
    words = ("--value", "latency", "--jobs", jobs)
    assert sum(folded(CLOCKED, *words[2:], value="latency").values()) == 712_374_453
    ran = perf2x("convert", CLOCKED, "--no-symbols", *words, "-q", "-o", tmp_path / "p.pb.gz")
    assert ran.code == 0, ran.err
    written = profile_pb2.Profile.FromString(gzip.decompress((tmp_path / "p.pb.gz").read_bytes()))
    assert [written.string_table[kind.type] for kind in written.sample_type] == ["samples", "latency:cpu-clock"]
    assert [sum(sample.value[at] for sample in written.sample) for at in (0, 1)] == [228, 712_374_453]
    for name in ("html", "svg", "chrome", "speedscope", "firefox") if jobs == 1 else ("chrome",):
        assert perf2x("convert", CLOCKED, "--no-symbols", *words, "-q", "-t", name, "-o", tmp_path / name).code == 0


def test_the_page_has_latencies_beside_values(tmp_path: Path) -> None:
    """So it can have a column of both, and switch between them."""
    words = ("--no-symbols", "--value", "latency", "--set", "compress=no", "-q", "-o", tmp_path / "p.html")
    assert perf2x("convert", CLOCKED, *words).code == 0
    text = (tmp_path / "p.html").read_text("utf-8")
    held = json.loads(text.partition('<script id="data" type="text/plain">')[2].partition("</script>")[0])
    period = sum(row["self_period"] for row in by_thread("--value", "latency").values())
    assert (sum(held["rows"]["latency"]), sum(held["rows"]["value"])) == (712_374_453, period)
    assert sum(held["bursts"]["latency"]) == 712_374_453


def test_differences_of_latencies() -> None:
    ran = perf2x("diff", CLOCKED, CLOCKED, "--no-symbols", "--value", "latency", "--all", "-q")
    assert ran.code == 0, ran.err
    assert "latency:cpu-clock" in ran.out
    assert "712.37 ms" in ran.out


def test_differences_have_a_column_of_periods() -> None:
    """The numbers are those that top says of each recording; threads of the two have other names."""
    words = ("diff", CLOCKED, SLEEPERS, "--no-symbols", "--value", "latency", "--by", "object", "--all", "-q")
    facts = json.loads(perf2x(*words, "--json").out)
    assert (facts["event"], facts["before"]) == ("latency:cpu-clock", 712_374_453)
    for place, source in enumerate((CLOCKED, SLEEPERS)):
        ran = perf2x("top", source, "--no-symbols", "--value", "latency", "--by", "object", "-n", 0, "--json", "-q")
        alone = {row["name"]: row for row in json.loads(ran.out)["rows"]}
        for row in facts["rows"]:
            for kind in ("self", "total", "self_period", "total_period"):
                assert row[kind][place] == alone.get(row["name"], {}).get(kind, 0)
    heads = {sort: perf2x(*words, "--sort", sort).out.splitlines()[1] for sort in ("self", "total")}
    assert all(f"  {sort} period  object" in head for sort, head in heads.items())
    table = [line.split(",") for line in perf2x(*words, "--format", "csv").out.splitlines()]
    assert table[0][-4:] == ["self_period_before", "self_period_after", "total_period_before", "total_period_after"]
    assert [list(map(int, row[-4:])) for row in table[1:]] == [
        [*row["self_period"], *row["total_period"]] for row in facts["rows"]
    ]
    plain = perf2x("diff", CLOCKED, SLEEPERS, "--no-symbols", "--by", "object", "-q").out
    assert " period " not in plain


def test_without_context_switches() -> None:
    for words in (("--value", "latency"), ("--parallelism", "1-2")):
        ran = perf2x("convert", recording("calls"), "--no-symbols", *words, "-t", "collapsed", "-o", "-")
        assert (ran.code, ran.out) == (2, "")
        assert "record with: perf record --switch-events" in ran.said
