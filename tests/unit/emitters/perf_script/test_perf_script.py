"""Answers of perf 7.2 for a recording with every field and record, byte for byte; refusals; hostile names."""

import io
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.list_array import ListArray
from perf2x.cli.app import command
from perf2x.emitters.perf_script.field_selection import REQUIRED_BITS, event_fields
from perf2x.emitters.perf_script.frame_lines import FrameTexts
from perf2x.emitters.perf_script.perf_script import PerfScript
from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.kernel.options_for_format import options_for_format
from perf2x.model.profile.profile_view import RecordedBatch, SampleReader, View
from perf2x.model.profile.recorded_samples import NEVER
from perf2x.model.recording.events import Event as Recorded
from perf2x.model.recording.events import Samples, Session
from perf2x.model.recording.sideband import Cgroups
from perf2x.model.setting import settings_in
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.forge import Branch, Comm, Event, Mmap, Mmap2, Sample, Stamp, write_file
from tests.forge import Session as Forged
from tests.forge import kernel as k
from tests.support import every_field
from tests.support.command import perf2x
from tests.support.outputs import symbols_of
from tests.support.recordings import CORPUS, corpus_cases
from tests.support.spe_traces import recording as spe_recording
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

DATA = Path(__file__).parent / "data"


class TestPerfScript(EmitterContract):
    def emitter(self) -> PerfScript:
        return PerfScript()

    def profile(self, builder: ProfileBuilder) -> View:
        return recorded(super().profile(builder))


def recorded(profile: View) -> View:
    """The profile with a reader of its rows, as samples with call chains."""
    kind, rows, count = k.IP | k.TID | k.TIME | k.CALLCHAIN, profile.samples, len(profile.samples)
    events = tuple(Recorded(row, one.name, 1, 0, 1, kind, 0, frozenset()) for row, one in enumerate(profile.events))
    samples = Samples(
        event=rows.event, position=np.arange(count), time=np.arange(count, dtype=np.uint64), cpu=None,
        pid=profile.threads.pid[rows.thread], tid=profile.threads.tid[rows.thread], ip=np.zeros(count, np.uint64),
        period=rows.value.astype(np.uint64), cpumode=np.full(count, 2, np.uint8),
        chain=ListArray(np.zeros(count + 1, np.int64), np.zeros(0, np.uint64)),
    )  # fmt: skip
    sideband: Any = SimpleNamespace(cgroups=Cgroups(*(np.zeros(0, np.uint64),) * 3, DictionaryColumn.of([])))
    reader = SampleReader(
        lambda _: iter([RecordedBatch(samples, rows.thread, rows.stack, NEVER)]),
        lambda *_: ([""], np.zeros(0, np.int64)), {},
        Session("here", "<", events), sideband, np.zeros(len(profile.locations), np.uint64),
    )  # fmt: skip
    return replace(profile, single_samples=reader)


def printed(path: Path, emitter: PerfScript | None = None, **options: object) -> str:
    out = io.BytesIO()
    profile = load(str(path), load_options(as_recorded=True, **options)).profile  # type: ignore[arg-type]
    (emitter or PerfScript()).emit(profile, out)
    return out.getvalue().decode()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("every") / "perf.data"
    path.write_bytes(every_field.recording())
    path.with_name("places.data").write_bytes(every_field.places())
    return path


@pytest.mark.parametrize("name", [*every_field.ANSWERS, *every_field.PLACES])
def test_prints_what_perf_prints(name: str, recording: Path) -> None:
    """The command takes perf's own words, and shows no inlined functions anyway."""
    path = recording.with_name("places.data") if name in every_field.PLACES else recording
    words = (every_field.ANSWERS | every_field.PLACES)[name].split()
    ran = perf2x("script", "-q", "--no-inline", "-i", str(path), *words)
    assert (ran.code, ran.out) == (0, (DATA / f"{name}.txt").read_text())


def test_processes_print_what_one_prints() -> None:
    """Each keeps threads and stacks of its samples in a file of its own."""
    path = CORPUS / "family/perf.data"
    alone, together = (printed(path, jobs=jobs) for jobs in (1, 3))
    assert alone == together
    assert alone.count("\n\n") > 100


def test_a_source_line_is_that_of_the_innermost_inlined_function() -> None:
    """The instruction was written there; perf names the function around it, as inlined ones are not printed."""
    builder = ProfileBuilder()
    builder.event()
    builder.thread()
    lines = [("inner", "/src/a.c", 3), ("outer", "/src/b.c", 9)]
    location = builder.location(0x401000, builder.mapping("/demo/prog", 0x400000, 0x2000, ""), lines=lines)
    profile = builder.build()
    frames = FrameTexts(profile, np.zeros(1, np.uint64), ())
    assert frames.name_texts(np.array([location]), frozenset({"sym", "srcline"})).tolist() == [b" outer\n  a.c:3"]


def test_a_caller_in_padding_has_the_offset_of_the_name_behind_it(tmp_path: Path) -> None:
    """No symbol holds the byte in front of such a return address; perf prints +0x0."""
    text = TinySection(".text", bytes(64), 0x1000, flags=6)
    symbols = [TinySymbol("first", 0x1000, 0x10), TinySymbol("second", 0x1020, 0x20)]
    (tmp_path / "prog").write_bytes(tiny_elf([text, *symbol_sections(symbols, 2)]))
    event = Event(type=1, sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN)
    program = Mmap2(pid=1, tid=1, addr=0x401000, len=0x1000, pgoff=0x1000, prot=5, filename="/prog", misc=2,
                    stamp=Stamp(pid=1, tid=1))  # fmt: skip
    chain = k.CONTEXT_USER, 0x401004, 0x401020
    sample = Sample(misc=2, ip=0x401004, pid=1, tid=1, time=5, chain=chain)
    (tmp_path / "perf.data").write_bytes(write_file(Forged(events=(event,)), [program, sample]))
    ran = perf2x("script", "-q", tmp_path / "perf.data", "--symfs", tmp_path, "-F", "ip,sym,symoff")
    assert [line.split() for line in ran.out.split("\n") if line] == [["401004", "first+0x4"], ["401020", "second+0x0"]]


def test_places_beside_stacks_have_names(tmp_path: Path) -> None:
    """A branch from one function to another; the library names them when a load is asked to."""
    text = TinySection(".text", bytes(64), 0x1000, flags=6)
    symbols = [TinySymbol("main", 0x1000, 0x20), TinySymbol("_Z4workv", 0x1020, 0x20)]
    (tmp_path / "prog").write_bytes(tiny_elf([text, *symbol_sections(symbols, 2)]))
    event = Event(name="cycles", type=0, sample_type=k.IP | k.TID | k.TIME | k.BRANCH_STACK, branch_sample_type=8)
    program = Mmap2(pid=1, tid=1, addr=0x401000, len=0x1000, pgoff=0x1000, prot=5, filename="/prog", misc=2,
                    stamp=Stamp(pid=1, tid=1))  # fmt: skip
    sample = Sample(
        ip=0x401001, pid=1, tid=1, time=5, branches=(Branch(0x401010, 0x401020), Branch(0x401021, 0x401011))
    )
    (tmp_path / "perf.data").write_bytes(write_file(Forged(events=(event,)), [program, sample]))
    ran = perf2x("script", "-q", tmp_path / "perf.data", "--symfs", tmp_path, "-F", "brstacksym")
    assert ran.out == "main+0x10/work()+0x0/-/-/-/0//- work()+0x1/main+0x11/-/-/-/0//- \n"


def test_the_command_has_all_settings_of_the_format() -> None:
    spelled = {word for one in command("script").params for word in one.opts}
    assert {f"--{field.replace('_', '-')}" for field in settings_in(PerfScript)} <= spelled


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("ip,nosuch", " nosuch: there are comm, tid"),
        ("+cgroup", " +cgroup: samples of cycles have no cgroup"),
        ("raw:+cgroup,-data_src", ""),
        ("nosuch:ip", " nosuch:ip: no kind of event 'nosuch'"),
        ("ip,symoff", " ip,symoff: symoff needs sym"),
        ("-ip,+srcline", " -ip,+srcline: srcline needs ip"),
        ("comm,-ip", " comm,-ip: either all fields, or all with + or -"),
        ("hw:addr", " hw:addr: samples of cycles have no addr"),
    ],
)
def test_fields_that_there_are_not_are_refused(fields: str, said: str, recording: Path) -> None:
    ran = perf2x("script", "-q", recording, "-F", fields)
    assert ran.code == 2 * bool(said)
    assert ran.said.startswith(f"perf2x: --fields{said}" if said else "")


def test_branches_are_chosen_by_their_words(recording: Path) -> None:
    """The scalar twin reads the words of the whole text."""
    words = ("script", "-q", recording, "-F", "hw:brstack")
    whole = perf2x(*words).out.splitlines()
    chosen = perf2x(*words, "--branch-filter", "cond,ind_call,ret,spec_wrong_path").out.splitlines()

    def twin(word: str) -> bool:
        *_, kind, speculation = word.split("/")
        return kind in ("COND", "IND_CALL", "RET") and speculation == "SPEC_WRONG_PATH"

    def branches(lines: list[str]) -> list[str]:
        return [word for line in lines for word in line.split() if word.count("/") == 7]

    assert branches(chosen) == list(filter(twin, branches(whole)))
    assert 0 < len(branches(chosen)) < len(branches(whole))


@pytest.mark.parametrize("inline", [True, False])
def test_lines_need_inlined_functions_though_none_is_printed(inline: bool) -> None:
    given = LoadOptions(symbols=SymbolOptions(inline=inline))
    for fields in ("", "+srcline"):
        symbols = options_for_format(given, "perf-script", PerfScript(fields=fields).needs).symbols
        assert symbols is not None
        assert symbols.inline == (inline or bool(fields))


@pytest.mark.parametrize(("fields", "is_read"), [("", False), ("+srcline", True)])
def test_debug_info_is_read_for_lines_alone(fields: str, is_read: bool) -> None:
    case = next(case for case in corpus_cases() if case.name == "user_only")
    needs, symbols = PerfScript(fields=fields).needs, replace(symbols_of(case), names="short")
    profile = load(str(case.data), options_for_format(LoadOptions(symbols=symbols), "perf-script", needs)).profile
    assert profile.mappings.has_functions.any()
    assert profile.mappings.has_line_numbers.any() == is_read


def test_branches_that_nobody_prints_cannot_be_chosen(recording: Path) -> None:
    for words in ((), ("-F", "ip,sym")):
        ran = perf2x("script", "-q", recording, "--branch-filter", "call", *words)
        assert ran.said == "perf2x: --branch-filter call: there is no brstack among the --fields"
    assert perf2x("script", "-q", recording, "--branch-filter", "call", "-F", "+brstacksym").code == 0


def test_events_without_samples_lack_nothing(recording: Path) -> None:
    """The event that is traced with Arm SPE has none, and its sample_type no address."""
    spe = recording.with_name("spe.data")
    spe.write_bytes(spe_recording(1))
    assert perf2x("script", "-q", spe, "-F", "addr").code == 0
    assert perf2x("script", "-q", recording, "-F", "addr").said.endswith("samples of cycles have no addr")
    assert perf2x("script", "-q", recording, "-F", "addr", "--event", "mem-loads").code == 0
    assert event_fields(load_events(), "addr", {0}, chains=True)[1:] == [frozenset()] * 2


def test_default_fields_are_what_samples_have() -> None:
    events = load_events()
    (raw, branches, chained) = event_fields(events, "", range(3), chains=True)
    assert raw - chained == {"addr", "data_src", "weight", "phys_addr", "data_page_size", "code_page_size", "ins_lat",
                             "retire_lat"}  # fmt: skip
    assert branches == chained == {"comm", "tid", "cpu", "time", "period", "event", "ip", "sym", "symoff", "dso"}
    assert event_fields(events, "+misc,-ip", range(3), chains=True)[2] == chained - {"ip"} | {"misc"}
    assert set(REQUIRED_BITS) >= raw


def load_events() -> tuple[Recorded, ...]:
    return tuple(
        Recorded(row, one.name, one.type, one.config, one.period, one.sample_type, 0, frozenset())
        for row, one in enumerate(every_field.EVENTS)
    )


def hostile() -> Iterator[object]:
    event = Event(sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN)
    comm = "x\n\t  401000 fake (/bin/false)\n\nroot"
    yield Forged(events=(event,))
    stamp = Stamp(pid=1, tid=1, time=1)
    yield [
        Comm(pid=1, tid=1, comm=comm, stamp=stamp),
        Mmap2(pid=1, tid=1, addr=0x1000, len=0x1000, prot=5, filename="/a)\n\nevil 1 2.0: 1 cycles:\n\t10 b (c", misc=2,
              stamp=stamp),
        Sample(ip=0x1010, pid=1, tid=1, time=5, chain=(k.CONTEXT_USER, 0x1010)),
    ]  # fmt: skip


def test_names_make_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    session, records = hostile()
    path.write_bytes(write_file(session, records))  # type: ignore[arg-type]
    lines = printed(path).split("\n")
    assert len(lines) == 4  # a sample with a frame, an empty line, the end
    assert [line[:1] == "\t" for line in lines] == [False, True, False, False]


def test_modules_of_the_kernel_have_short_names(tmp_path: Path) -> None:
    path, event = tmp_path / "perf.data", Event(sample_type=k.IP | k.TID | k.TIME)
    module = Mmap(pid=0xFFFFFFFF, tid=0, addr=0xFFFFFFFFC0000000, len=0x1000, misc=1,
                  filename="/lib/modules/6.1/kernel/snd-hda.ko.xz", stamp=Stamp(pid=0xFFFFFFFF, tid=0))  # fmt: skip
    sample = Sample(ip=0xFFFFFFFFC0000010, pid=1, tid=1, time=5, mode=1)
    path.write_bytes(write_file(Forged(events=(event,)), [module, sample]))
    assert printed(path, PerfScript(fields="ip,sym,dso")) == " ffffffffc0000010 [unknown] ([snd_hda])\n"


@pytest.mark.parametrize(
    "name", ["//anon", "/dev/zero (deleted)", "/SYSV00000000 (deleted)", "/anon_hugepage (deleted)"]
)
def test_code_in_memory_is_of_the_map_of_its_process(name: str, tmp_path: Path) -> None:
    """tools/perf/util/map.c, is_anon_memory and is_no_dso_memory: compilers share memory, too (MAP_SHARED)."""
    path, event = tmp_path / "perf.data", Event(sample_type=k.IP | k.TID | k.TIME)
    code = Mmap2(
        pid=7, tid=7, addr=0x7F0000000000, len=0x1000, filename=name, misc=2, prot=5, stamp=Stamp(pid=7, tid=7)
    )
    sample = Sample(ip=0x7F0000000010, pid=7, tid=7, time=5, mode=2)
    path.write_bytes(write_file(Forged(events=(event,)), [code, sample]))
    assert printed(path, PerfScript(fields="ip,sym,dso")) == "     7f0000000010 [unknown] (/tmp/perf-7.map)\n"


@pytest.mark.parametrize(
    ("choice", "threads"),
    [(("--tid", "101"), {"101"}), (("--comm", "worker"), {"101"}), (("--event", "cycles"), {"101"}),
     (("--time", "0.000003,1"), {"100"})],
)  # fmt: skip
def test_filters_leave_rows_aligned(choice: tuple[str, str], threads: set[str], recording: Path) -> None:
    """Each line that stays is one of the whole text's."""
    whole = perf2x("script", "-q", recording, "-F", "-data_src").out.split("\n")
    some = perf2x("script", "-q", recording, "-F", "-data_src", *choice).out.split("\n")
    assert 1 < len(some) < len(whole)
    assert set(some) <= set(whole)
    assert {line.split()[1] for line in some if line.endswith(": ") or ("/bin" in line and line[0] != "\t")} == threads


@pytest.mark.parametrize(
    ("choice", "frames"),
    [(("--frames", "user"), "401001 401004 401007 40100a 401010 401010 401234 700008 12345"),
     (("--symbol", "0x401010"), "401010 401010 401234 700008 12345"),
     (("--symbol", "0x401010", "--max-stack", "2"), "401010 401010 401234"),
     (("--dso", "prog", "--frames", "user"), "401001 401004 401007 40100a 401010 401010 401234 700008 12345"),
     (("--comm", "zufällig", "--frames", "kernel"), "401000 401002 401003 401005 401006 401008 401009 40100b")],
)  # fmt: skip
def test_frames_that_are_chosen(choice: tuple[str, ...], frames: str, recording: Path) -> None:
    assert perf2x("script", "-q", recording, "-F", "ip", "--tid", "100", *choice).out.split() == frames.split()


def test_one_recording_that_is_not_hidden(recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.data"
    other.write_bytes(write_file(Forged(events=(Event(ids=(9,)),)), [Sample(id=9)]))
    said = "samples are written as they were recorded: pass one recording at a time, and no dataset"
    with pytest.raises(OptionError, match=said):
        load([str(recording), str(other)], load_options(as_recorded=True))
    ran = perf2x("script", recording, "--no-merge-callchains")
    assert "there is no option --no-merge-callchains" in ran.said
    ran = perf2x("convert", recording, "-t", "perf-script", "--no-merge-callchains", "-o", tmp_path / "out")
    assert "perf-script cannot take --no-merge-callchains" in ran.said
    ran = perf2x("convert", recording, "-t", "perf-script", "--anonymize", "s", "-o", tmp_path / "out")
    assert "perf-script cannot take --anonymize" in ran.said
