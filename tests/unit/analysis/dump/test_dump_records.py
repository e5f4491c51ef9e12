"""The dump shows forged records, filters them, and agrees with perf script -D."""

import lzma
import os
import re
import struct
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perf2x.analysis.dump.dump_records import DumpOptions, dump_lines
from perf2x.base.errors import OptionError
from perf2x.cli.app import app
from tests import forge
from tests.forge import kernel as k
from tests.forge.records import Stamp
from tests.support.command import perf2x, recording

SHARED = Path(os.environ.get("PERF2X_SHARED", Path(__file__).resolve().parents[5] / "shared"))
WITH_DUMPS = sorted(SHARED.glob("recordings/deferred/*/ref.dump.txt.xz"))
COMPARED = ("SAMPLE", "CALLCHAIN_DEFERRED", "MMAP", "MMAP2", "COMM", "FORK", "EXIT", "SWITCH", "CGROUP")
EVENT = forge.Event(
    sample_type=k.IP | k.TID | k.TIME | k.CPU | k.CALLCHAIN | k.PERIOD,
    flags=frozenset({"sample_id_all", "defer_callchain", "defer_output"}),
)
STAMP = Stamp(pid=7, tid=8, time=2_500_000_000, cpu=3)


def _path(folder: Path, *records: forge.Record, **session: object) -> str:
    path = folder / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(events=(EVENT,), **session), records))  # type: ignore[arg-type]
    return str(path)


def _lines(path: str, **options: object) -> list[str]:
    return list(dump_lines(path, DumpOptions(**options)))  # type: ignore[arg-type]


def test_deferred_chains_are_shown_with_their_cookies(tmp_path: Path) -> None:
    """A deferred sample is marked, the deferred record shows cookie and chain, and the event both flags."""
    sample = forge.Sample(
        time=2_400_000_000, pid=7, tid=8, cpu=3, ip=5, chain=(9, k.CONTEXT_USER_DEFERRED, 0xB00000006)
    )
    answer = forge.CallchainDeferred(cookie=0xB00000006, ips=(0x7F18, 0x7F19), stamp=STAMP)
    lines = _lines(_path(tmp_path, sample, answer), verbose=True)
    assert "defer_callchain: 1, defer_output: 1" in lines[0] and lines[0].startswith("# cpu-clock: type: 1")
    assert (
        lines[1].startswith("3 2400000000 0x") and "PERF_RECORD_SAMPLE(IP, 0x2): 7/8: 0x5 period: 1 addr: 0" in lines[1]
    )
    assert lines[2:9] == [
        "... header: type: 9, misc: 0x2, size: 80",
        "... fields: ip: 0x5, pid: 7, tid: 8, time: 2400000000, cpu: 3, period: 1",
        "... FP chain: nr:3",
        ".....  0: 0000000000000009",
        ".....  1: fffffffffffffd80 (PERF_CONTEXT_USER_DEFERRED)",
        ".....  2: 0000000b00000006",
        "...... (deferred)",
    ]
    assert "PERF_RECORD_CALLCHAIN_DEFERRED(IP, 0x2): 7/8: 0xb00000006" in lines[10]
    assert lines[11:] == [
        "... header: type: 22, misc: 0x2, size: 64",
        "... fields: pid: 7, tid: 8, cookie: 0xb00000006, time: 2500000000, cpu: 3",
        "... FP chain: nr:2",
        ".....  0: 0000000000007f18",
        ".....  1: 0000000000007f19",
    ]


def test_filters_choose_records(tmp_path: Path) -> None:
    comms = [forge.Comm(pid=1, tid=1, comm=str(time), stamp=Stamp(time=time)) for time in (0, 10, 20, 30)]
    path = _path(tmp_path, *comms, forge.Sample(time=15), forge.FinishedRound())
    names = [line.rsplit(": ", 1)[1] for line in _lines(path, types=frozenset({"COMM"}), events=False)]
    assert names == ["0:1/1", "10:1/1", "20:1/1", "30:1/1"]
    timed = [line for line in _lines(path, start_ns=10, stop_ns=30, events=False) if "PERF_RECORD" in line]
    assert len(timed) == 3 and "COMM: 10" in timed[0] and "COMM: 20" in timed[1] and "SAMPLE" in timed[2]
    with pytest.raises(OptionError, match="no record type 'NONSENSE'"):
        _lines(path, types=frozenset({"NONSENSE"}))


def test_raw_bytes_are_shown_in_hex_and_as_text(tmp_path: Path) -> None:
    lines = _lines(_path(tmp_path, forge.FinishedRound()), raw=True, events=False)
    assert lines[1] == ". ... raw event: size 8 bytes"
    assert lines[2] == ".  0000:  44 00 00 00 00 00 08 00                          D......."


def test_every_record_type_is_formatted(tmp_path: Path) -> None:
    """Dump each type that the forge can write, whole and cut to its header."""
    records: list[forge.Record] = [
        forge.Mmap(pid=1, tid=1, addr=1, len=2), forge.Mmap2(pid=1, tid=1, addr=1, len=2), forge.Lost(), forge.Aux(),
        forge.Throttle(), forge.Throttle(lifted=True), forge.Read(), forge.ItraceStart(), forge.LostSamples(),
        forge.Switch(), forge.SwitchCpuWide(is_out=True), forge.Namespaces(links=((1, 2),)), forge.BpfEvent(),
        forge.Ksymbol(addr=1, len=1), forge.Cgroup(id=1, path="/"), forge.TextPoke(), forge.HeaderEventType(),
        forge.BuildId(filename="/x"), forge.IdIndex(entries=((1, 2, 3, 4),)), forge.ThreadMap(threads=((1, "a"),)),
        forge.EventUpdate(kind=1, id=0, value=0.5), forge.TimeConv(), forge.FinishedInit(),
    ]  # fmt: skip
    stubs = [forge.Raw(type=kind) for kind in (*range(1, 23), *range(64, 87)) if kind not in (66, 71, 81, 83)]
    whole, cut = _lines(_path(tmp_path, *records), events=False), _lines(_path(tmp_path, *stubs), events=False)
    assert len([line for line in whole if "PERF_RECORD" in line]) == len(records)
    assert len([line for line in cut if "PERF_RECORD" in line]) == len(stubs)
    assert not [line for line in whole if "damaged" in line]


def test_what_a_trace_lacks_is_said_by_letters(tmp_path: Path) -> None:
    """Worded as perf 7.2 does."""
    records = [forge.Aux(offset=at, aux_size=64, flags=flags) for at, flags in ((0, 0), (4096, 5), (8192, 15))]
    lines = [line.partition("RECORD_")[2] for line in _lines(_path(tmp_path, *records), events=False)]
    assert lines == [
        "AUX offset: 0 size: 0x40 flags: 0 []",
        "AUX offset: 0x1000 size: 0x40 flags: 0x5 [TP]",
        "AUX offset: 0x2000 size: 0x40 flags: 0xf [TOPC]",
    ]


def test_branches_are_worded_as_in_perf(tmp_path: Path) -> None:
    """As ``perf script -D`` prints them (7.2), and the privilege behind that."""
    event = forge.Event(sample_type=k.IP | k.BRANCH_STACK, branch_sample_type=9)
    branches = (
        forge.Branch(16, 32, mispred=1, cycles=7, type=1, spec=2, priv=1),
        forge.Branch(17, 33, predicted=1, abort=1, in_tx=1, type=9, priv=2),
        forge.Branch(18, 34, type=15, new_type=0, spec=3, priv=3), forge.Branch(19, 35, type=15, new_type=15, priv=7),
    )  # fmt: skip
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(events=(event,)), [forge.Sample(branches=branches)]))
    lines = [line for line in dump_lines(str(path), DumpOptions(verbose=True)) if " -> " in line]
    assert lines == [
        f".....  0: {16:016x} -> {32:016x} 7 cycles M    0 COND NON_SPEC_CORRECT_PATH user",
        f".....  1: {17:016x} -> {33:016x} 0 cycles  PAT 0 COND_CALL  kernel",
        f".....  2: {18:016x} -> {34:016x} 0 cycles      0 FAULT_ALGN SPEC_CORRECT_PATH hv",
        f".....  3: {19:016x} -> {35:016x} 0 cycles      0",
    ]
    for words, shown in [("cond,fault_algn", [0, 2]), ("COND,COND_CALL,kernel", [1]), ("spec_correct_path", [2])]:
        ran = CliRunner().invoke(app, ["dump", str(path), "-v", "--branch-filter", words])
        assert [line for line in ran.stdout.splitlines() if " -> " in line] == [lines[row] for row in shown]
        assert f"... branch stack: nr:4, {len(shown)} shown\n" in ran.stdout
    refused = CliRunner().invoke(app, ["dump", str(path), "-v", "--branch-filter", "jump"])
    assert refused.exit_code == 2 and "--branch-filter jump: there are cond, uncond, " in refused.stderr
    assert "needs -v" in CliRunner().invoke(app, ["dump", str(path), "--branch-filter", "cond"]).stderr


def test_the_command_prints_the_dump(tmp_path: Path) -> None:
    path = _path(
        tmp_path, forge.Comm(pid=1, tid=1, comm="a\x1b[31m\nb", stamp=STAMP), forge.Comm(pid=1, tid=1, comm="x")
    )
    shown = CliRunner().invoke(app, ["dump", path, "--type", "comm", "--time", "2.5,", "--no-events"])
    assert shown.exit_code == 0 and shown.stdout.count("\n") == 1
    assert r"a\x1b[31m\nb:1/1" in shown.stdout
    wrong = CliRunner().invoke(app, ["dump", path, "--time", "soon"])
    assert wrong.exit_code == 2 and "expected START,STOP" in wrong.stderr


def test_the_limit_counts_records(tmp_path: Path) -> None:
    chain = forge.Sample(time=10, pid=7, tid=8, cpu=3, ip=5, chain=(9, 8, 7))
    comms = [forge.Comm(pid=1, tid=1, comm=f"c{at}", stamp=Stamp(time=11 + at)) for at in range(5)]
    path = _path(tmp_path, chain, *comms)
    for verbose in (False, True):
        for limit in range(7):
            lines = _lines(path, limit=limit, verbose=verbose)
            assert [line for line in lines if "PERF_RECORD_" in line] == [
                line for line in _lines(path, verbose=verbose) if "PERF_RECORD_" in line
            ][:limit]
            assert lines[0].startswith("# cpu-clock")
    only = _lines(path, limit=1, types=frozenset({"COMM"}), start_ns=13, events=False)
    assert len(only) == 1 and ": c2:1/1" in only[0]


def test_a_record_is_one_line_unless_the_dump_is_verbose(tmp_path: Path) -> None:
    sample = forge.Sample(time=10, pid=7, tid=8, cpu=3, ip=5, chain=(9, 8, 7))
    records = (sample, forge.CallchainDeferred(cookie=9, ips=(1, 2), stamp=STAMP), forge.FinishedRound())
    brief = _lines(_path(tmp_path, *records), events=False)
    assert len(brief) == 3
    assert brief[0].endswith("7/8: 0x5 period: 1 addr: 0 chain: 3 event: cpu-clock")
    assert brief[1].endswith("7/8: 0x9 chain: 2")
    whole = _lines(_path(tmp_path, *records), events=False, verbose=True)
    assert whole[-1] == "... header: type: 68, misc: 0x0, size: 8"


def test_verbose_dumps_show_fields_by_name(tmp_path: Path) -> None:
    mapped = forge.Mmap2(pid=1, tid=2, addr=0x4000, len=0x1000, pgoff=0, filename="/bin/a\x1b", stamp=STAMP)
    fields = _lines(_path(tmp_path, mapped, forge.Lost()), events=False, verbose=True)
    assert fields[2].startswith("... fields: pid: 1, tid: 2, start: 0x4000, length: 0x1000, pgoff: 0, prot: ")
    assert fields[2].endswith("filename: /bin/a\x1b, is_data: 0, time: 2500000000, cpu: 3")
    assert "inode: " in fields[2] and "build_id" not in fields[2]
    assert fields[5] == "... fields: pid: 0, tid: 0, owner_id: 0, lost: 1, cpu: 0"


@pytest.mark.shared
@pytest.mark.parametrize("reference", [pytest.param(path, id=path.parent.name) for path in WITH_DUMPS])
def test_the_dump_agrees_with_perf(reference: Path) -> None:
    """Compare the first lines of perf 7.2's dump; where a folder holds several files, of perf.data."""
    folder = reference.parent
    path = folder / "perf.data"
    if not path.exists():
        pytest.skip("the reference is of another file")
    with lzma.open(reference, "rt", errors="surrogateescape") as text:
        theirs = Counter(filter(None, map(_comparable, text)))
    ours = Counter(filter(None, map(_comparable, dump_lines(str(path), DumpOptions(verbose=True)))))
    if not theirs:
        pytest.skip("perf could not read it")
    assert ours == theirs


def _comparable(line: str) -> str:
    """Return a record's line without its position in the file, or the remark on a sample.

    Chains are not compared: perf leaves out those of deferred records that belong to an event without callchains.
    """
    if line.startswith("...... (deferred)"):
        return line.rstrip()
    match = re.match(r"([-\d ]*)0(?:x[0-9a-f]+)? (\[0x[0-9a-f]+\]: PERF_RECORD_(\w+).*)", line)
    return f"{match[1]}{match[2]}".rstrip().replace("4294967295 ", "-1 ") if match and match[3] in COMPARED else ""


def test_damage_is_counted_at_the_end_though_samples_were_read(tmp_path: Path) -> None:
    data = Path(recording("calls")).read_bytes()
    cut = tmp_path / "perf.data"
    cut.write_bytes(data[:30_000])
    ran = perf2x("dump", cut)
    assert ran.code == 0 and ran.out.count("PERF_RECORD_SAMPLE") > 100
    assert ran.err.startswith("lost: ") and ran.err.count("\n") == 1
    assert f"{sum(struct.unpack_from('<QQ', data, 40)) - 30_000:,} bytes missing at the end of the file" in ran.err
    assert perf2x("dump", recording("calls")).err == ""
