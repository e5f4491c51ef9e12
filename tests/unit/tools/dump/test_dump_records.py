"""The dump shows forged records, filters them, and agrees with perf script -D."""

import lzma
import os
import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perf2x.base.diagnostics import Diagnostics
from perf2x.cli.app import app
from perf2x.errors import OptionError
from perf2x.model.filters.time_ranges import OPEN_END
from perf2x.tools.dump.dump_options import DumpOptions
from perf2x.tools.dump.dump_records import DumpTotals, dump_lines
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


def lines_of(path: str, options: DumpOptions) -> Iterator[str]:
    return dump_lines(path, options, Diagnostics(), DumpTotals())


def _path(folder: Path, *records: forge.Record, **session: object) -> str:
    path = folder / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(events=(EVENT,), **session), records))  # type: ignore[arg-type]
    return str(path)


def _lines(path: str, **options: object) -> list[str]:
    return list(lines_of(path, DumpOptions(**options)))  # type: ignore[arg-type]


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
    names = [re.findall("comm: (.*), ", line)[0] for line in _lines(path, types=("COMM",), events=False)]
    assert names == ["0", "10", "20", "30"]
    timed = [line for line in _lines(path, times=((10, 20),), events=False) if "PERF_RECORD" in line]
    assert len(timed) == 3 and "comm: 10," in timed[0] and "comm: 20," in timed[1] and "SAMPLE" in timed[2]
    with pytest.raises(OptionError, match="no record type 'NONSENSE'"):
        _lines(path, types=("NONSENSE",))


@pytest.mark.parametrize("name", ["BUILD_ID", "perf_record_build_id", "HEADER_BUILD_ID"])
def test_a_type_is_selected_by_the_name_that_is_printed(tmp_path: Path, name: str) -> None:
    path = _path(tmp_path, forge.BuildId(filename="/x"), forge.FinishedRound())
    shown = CliRunner().invoke(app, ["dump", path, "--type", name, "--no-events"])
    assert shown.stdout.count("PERF_RECORD_") == shown.stdout.count("PERF_RECORD_BUILD_ID ") == 1


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


def test_what_a_trace_lacks_is_said_by_name(tmp_path: Path) -> None:
    records = [forge.Aux(offset=at, aux_size=64, flags=flags) for at, flags in ((0, 0), (4096, 5), (8192, 15))]
    lines = [line.partition("RECORD_")[2] for line in _lines(_path(tmp_path, *records), events=False)]
    assert lines == [
        "AUX pid: 0, tid: 0, offset: 0, size: 0x40, flags: 0",
        "AUX pid: 0, tid: 0, offset: 0x1000, size: 0x40, flags: TRUNCATED|PARTIAL",
        "AUX pid: 0, tid: 0, offset: 0x2000, size: 0x40, flags: TRUNCATED|PARTIAL|COLLISION|0x2",
    ]


def test_structs_are_shown_field_by_field(tmp_path: Path) -> None:
    """Records without a decoder, as the structs of perf's event.h have them."""
    records = (
        forge.ItraceStart(pid=5, tid=6, stamp=STAMP), forge.IdIndex(entries=((1, 2, 3, 4), (5, 6, 7, (1 << 64) - 1))),
        forge.ThreadMap(threads=((-1, "a b"), (9, "c"))), forge.BuildId(filename="/x", build_id=b"\1" * 20),
        forge.EventUpdate(kind=1, id=0, value=0.5), forge.TimeConv(shift=1, mult=2, zero=3), forge.FinishedInit(),
        forge.Namespaces(pid=1, tid=2, links=((4, 255),) * 8), forge.Raw(type=84, body=b"12345678"),
    )  # fmt: skip
    lines = _lines(_path(tmp_path, *records), events=False)
    assert lines[0].startswith("3 2500000000 0x")
    assert [line.partition("RECORD_")[2] for line in lines] == [
        "ITRACE_START pid: 5, tid: 6",
        "ID_INDEX nr: 2, id/idx/cpu/tid: 1/2/3/4, 5/6/7/-1",
        "THREAD_MAP nr: 2, pid/comm: -1/a b, 9/c",
        f"BUILD_ID pid: -1, build_id: {'01' * 20}, filename: /x",
        "EVENT_UPDATE type: SCALE, id: 0, value: 0.5",
        "TIME_CONV time_shift: 1, time_mult: 2, time_zero: 3",
        "FINISHED_INIT",
        "NAMESPACES pid: 1, tid: 2, net_ns: 4/0xff, uts_ns: 4/0xff, ipc_ns: 4/0xff, pid_ns: 4/0xff, user_ns: 4/0xff, "
        "mnt_ns: 4/0xff, cgroup_ns: 4/0xff, ns_7: 4/0xff",
        "BPF_METADATA data: 8 bytes",
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
    lines = [line for line in lines_of(str(path), DumpOptions(verbose=True)) if " -> " in line]
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
    assert r"comm: a\x1b[31m\nb, " in shown.stdout
    for text, said in (("soon", "expected start,stop"), ("10%/2", "write seconds")):
        wrong = CliRunner().invoke(app, ["dump", path, "--time", text])
        assert wrong.exit_code == 2 and said in wrong.stderr


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
    only = _lines(path, limit=1, types=("COMM",), times=((13, OPEN_END),), events=False)
    assert len(only) == 1 and "comm: c2, " in only[0]


def test_a_record_is_one_line_unless_the_dump_is_verbose(tmp_path: Path) -> None:
    sample = forge.Sample(time=10, pid=7, tid=8, cpu=3, ip=5, chain=(9, 8, 7))
    records = (sample, forge.CallchainDeferred(cookie=9, ips=(1, 2), stamp=STAMP), forge.FinishedRound())
    brief = _lines(_path(tmp_path, *records), events=False)
    assert len(brief) == 3
    assert brief[0].endswith("7/8: 0x5 period: 1 addr: 0 chain: 3 event: cpu-clock")
    assert brief[1].endswith("7/8: 0x9 chain: 2")
    whole = _lines(_path(tmp_path, *records), events=False, verbose=True)
    assert whole[-1] == "... header: type: 68, misc: 0x0, size: 8"


def test_counts_that_do_not_fit_are_damage(tmp_path: Path) -> None:
    for body in (struct.pack("<QQQQQ", 2, 1, 1, 1, 1), struct.pack("<Q", 1 << 60)):
        (line,) = _lines(_path(tmp_path, forge.Raw(type=69, body=body)), events=False)
        assert line.endswith("PERF_RECORD_ID_INDEX: cut short or damaged")


def test_verbose_samples_show_every_word_of_theirs(tmp_path: Path) -> None:
    """In one line: what costs, where the data was, and the transaction."""
    event = forge.Event(sample_type=k.IP | k.ID | k.ADDR | k.WEIGHT_STRUCT | k.DATA_SRC | k.TRANSACTION | k.PHYS_ADDR)
    sample = forge.Sample(ip=5, addr=6, weight=7 | 8 << 32 | 9 << 48, data_src=16, transaction=17, phys_addr=18)
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(events=(event,)), [sample]))
    (line,) = [line for line in lines_of(str(path), DumpOptions(verbose=True)) if line.startswith("... fields: ")]
    words = "ins_lat: 8, weight3: 9, transaction: 0x11, phys_addr: 0x12"
    assert re.sub(r"id: \d+, ", "", line) == f"... fields: ip: 0x5, addr: 0x6, weight: 7, data_src: 0x10, {words}"
    assert "id: " in line


def test_records_show_their_fields_by_name(tmp_path: Path) -> None:
    mapped = forge.Mmap2(pid=1, tid=2, addr=0x4000, len=0x1000, pgoff=0, filename="/bin/a\x1b", stamp=STAMP)
    lines = [line.partition("RECORD_")[2] for line in _lines(_path(tmp_path, mapped, forge.Lost()), events=False)]
    assert lines[0].startswith("MMAP2 pid: 1, tid: 2, start: 0x4000, length: 0x1000, pgoff: 0, prot: ")
    assert lines[0].endswith("filename: /bin/a\x1b, is_data: 0")
    assert "inode: " in lines[0] and "build_id" not in lines[0]
    assert lines[1] == "LOST pid: 0, tid: 0, id: 0, lost: 1"


@pytest.mark.shared
@pytest.mark.parametrize(
    "reference",
    [
        pytest.param(path, id=path.parent.name, marks=pytest.mark.slow if row % 8 else ())
        for row, path in enumerate(WITH_DUMPS)
    ],
)
def test_the_dump_agrees_with_perf(reference: Path) -> None:
    """Compare the first lines of perf 7.2's dump; where a folder holds several files, of perf.data."""
    folder = reference.parent
    path = folder / "perf.data"
    if not path.exists():
        pytest.skip("the reference is of another file")
    with lzma.open(reference, "rt", errors="surrogateescape") as text:
        theirs = Counter(filter(None, map(_comparable, text)))
    ours = Counter(filter(None, map(_comparable, lines_of(str(path), DumpOptions(verbose=True)))))
    if not theirs:
        pytest.skip("perf could not read it")
    assert ours == theirs


_TASK = r"\((?P<pid>.+):(?P<tid>.+)\):\((?P<ppid>.+):(?P<ptid>.+)\)"
_MAPPING = r" (?P<pid>\S+)/(?P<tid>\d+): \[(?P<start>\w+)\((?P<length>\w+)\) @ (?P<pgoff>\w+)"
_PERF = {
    "MMAP": rf"{_MAPPING}\]: . (?P<filename>.*)",
    "MMAP2": rf"{_MAPPING} (<(?P<build_id>\w+)>|(?P<major>\w+):(?P<minor>\w+) (?P<inode>\d+) (?P<inode_generation>\d+))"
    r"\]: (?P<prot>...)(?P<flags>.) (?P<filename>.*)",
    "COMM": r"(?P<is_exec> exec)?: (?P<comm>.*):(?P<pid>.+)/(?P<tid>.+)",
    "FORK": _TASK,
    "EXIT": _TASK,
    "SWITCH": r" (?P<is_out>OUT|IN) *(?P<preempted>preempt)?.*",
    "CGROUP": r" cgroup: (?P<id>\d+) (?P<path>.*)",
}
"""Texts of perf's records that we print field by field."""


def _comparable(line: str) -> str:
    """Return a record's line without its position in the file and with fields as perf has them, or the remark.

    Chains are not compared: perf leaves out those of deferred records that belong to an event without callchains.
    """
    if line.startswith("...... (deferred)"):
        return line.rstrip()
    match = re.match(r"([-\d ]*)0(?:x[0-9a-f]+)? (\[0x[0-9a-f]+\]: PERF_RECORD_)(\w+)(.*)", line)
    if not match or match[3] not in COMPARED:
        return ""
    begin = f"{match[1]}{match[2]}{match[3]}".replace("4294967295 ", "-1 ")
    if match[3] not in _PERF:
        return f"{begin}{match[4].rstrip()}"
    theirs = re.fullmatch(_PERF[match[3]], match[4].rstrip())
    ours = dict(re.findall(r"(\w+): (.*?)(?:, (?=\w+: )|$)", match[4]))
    fields = (
        theirs.groupdict() if theirs else {name: ours.get(name) for name in re.findall(r"\?P<(\w+)>", _PERF[match[3]])}
    )
    return f"{begin} {sorted((name, _value(name, text, bool(theirs))) for name, text in fields.items())}"


def _value(name: str, text: str | None, is_perf: bool) -> str:
    """Return a field's text as a number where it is one."""
    if name in ("is_exec", "preempted", "is_out") and is_perf:
        return str(int(text not in (None, "IN")))
    if name == "prot" and is_perf:
        return str(sum(bit for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if letter in (text or "")))
    if name == "flags":
        return str(text == "s" if is_perf else bool(int(text or 0) & 1))
    if name in ("major", "minor") and is_perf and text:
        return str(int(text, 16))
    is_text = text is None or name in ("comm", "filename", "path", "build_id")
    return str(text) if is_text else str(int(text or "0", 0))


def test_damage_is_counted_at_the_end_though_samples_were_read(tmp_path: Path) -> None:
    data = Path(recording("calls")).read_bytes()
    cut = tmp_path / "perf.data"
    cut.write_bytes(data[:30_000])
    ran = perf2x("dump", cut)
    assert ran.code == 0 and ran.out.count("PERF_RECORD_SAMPLE") > 100
    assert ran.err.startswith("lost: ") and ran.err.count("\n") == 1
    assert f"{sum(struct.unpack_from('<QQ', data, 40)) - 30_000:,} bytes missing at the end of the file" in ran.err
    assert perf2x("dump", recording("calls")).err == ""
