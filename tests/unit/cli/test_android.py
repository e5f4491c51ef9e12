"""Recordings of Android's simpleperf: every kind of name in them, waits, and what else a user does with them."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tests import forge
from tests.forge import kernel as k
from tests.forge import simpleperf as phone
from tests.forge import write_file
from tests.support import phone_recording
from tests.support.command import perf2x
from tests.support.phone_recording import APK, FILES, LIB, NAMES, PID, WORK, write_phone
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_phone(tmp_path / "perf.data")


def stacks(*words: object) -> dict[str, int]:
    ran = perf2x("convert", *words, "--to", "collapsed", "-o", "-")
    assert ran.code == 0, ran.err
    return {stack: int(value) for stack, _, value in (line.rpartition(" ") for line in ran.out.splitlines())}


STACK = ";".join(["com.example", *reversed(NAMES)])


@pytest.mark.parametrize("number", [phone.FILE, phone.FILE2])
def test_every_kind_of_file_names_its_frames(tmp_path: Path, number: int) -> None:
    """Code that was compiled again at the same place has the name of its time."""
    found = stacks(write_phone(tmp_path / "perf.data", number))
    assert found == {STACK: 1_000_000, "com.example;com.example.Main.hotter": 1_000_000}


def test_events_have_the_names_that_simpleperf_lists(recording: Path) -> None:
    facts = json.loads(perf2x("info", recording, "--json").out)
    assert [event["name"] for event in facts["events"]] == ["cpu-clock", "sched:sched_switch"]
    assert "event: sched:sched_switch" in perf2x("dump", recording).out


def test_waits_last_from_the_switch_to_the_return(recording: Path) -> None:
    assert stacks(recording, "--off-cpu", "apart") == {STACK: 12 * phone_recording.MS}


def test_info_says_what_the_phone_recorded(recording: Path) -> None:
    said = perf2x("info", recording).out
    assert "phone: Maker:Phone 1:codename, Android 15\n" in said
    assert "app: com.example\n" in said
    how = "1.build.1, clock monotonic, off-CPU traced true, kernel symbols true, written at Unix time 1764000000"
    assert f"simpleperf: {how}\n" in said
    assert "symbols in the recording: 11 of 9 files\n" in said


def test_objects_are_called_as_in_simpleperfs_report(recording: Path) -> None:
    listed = perf2x("top", recording, "--json")
    objects = {row["name"]: row["object"] for row in json.loads(listed.out)["rows"]}
    assert objects["com.example.Main.hot"] == "[JIT app cache]"
    assert objects["app::work"] == "libapp.so"
    assert objects["com.example.Main.onCreate"] == "base.vdex"
    chosen = stacks(recording, "--dso", "[JIT app cache]")
    assert list(chosen) == ["com.example;com.example.Main.hotter"]


CODE = b"\x1f\x20\x03\xd5" * 0x800


def library(start: int) -> bytes:
    """An ELF file whose code begins at ``start``."""
    own = symbol_sections([TinySymbol("their_own_name", WORK, 0x20)], 2)
    return tiny_elf([TinySection(".text", CODE, start, flags=6), *own], machine=183)


def write_library(root: Path) -> Path:
    """Write the library as the phone had it: byte 0x1000 of the file is at 0x2000."""
    path = root / APK.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(library(0x2000 - (0x1000 - library(0x2000).index(CODE))))
    return root


def test_a_file_of_the_user_wins_and_may_know_more(recording: Path, tmp_path: Path) -> None:
    """It does where it names the address; the recording's name stays where it does not."""
    root = write_library(tmp_path / "root")
    found = stacks(recording, "--symfs", root)
    assert STACK.replace("app::work", "their_own_name") in found


def test_return_addresses_are_adjusted_once(tmp_path: Path) -> None:
    """simpleperf did it already where it wrote META_INFO; the caller's address is the first of its function."""
    session, records = phone_recording.session(), phone_recording.records()
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(session, records))
    assert "caller;app::work" in " ".join(stacks(path))
    del session.features.extra[phone.META_INFO]
    path.write_bytes(write_file(session, records))
    assert "app::work;app::work" in " ".join(stacks(path))


def test_old_lists_of_files_have_no_offset(tmp_path: Path) -> None:
    """Then the first mapping of the file begins at its first code."""
    old = [replace(FILES[2], symbols=((WORK, 0x40, "found"),), offset=None)]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(phone_recording.session(phone.FILE, old), phone_recording.records()))
    assert "found" in " ".join(stacks(path))


def test_hidden_names_stay_hidden(recording: Path) -> None:
    ran = perf2x("convert", recording, "--anonymize", "secret", "--to", "collapsed", "-o", "-")
    assert ran.code == 0
    for word in ("example", "work", "wifi", "soinfo", "JIT"):
        assert word not in ran.out


def test_a_bundle_needs_nothing_else(recording: Path, tmp_path: Path) -> None:
    assert perf2x("bundle", recording, "-o", tmp_path / "b.tar.gz").code == 0
    assert stacks(tmp_path / "b.tar.gz") == stacks(recording)


def test_the_kernels_whole_table_may_be_a_record(tmp_path: Path) -> None:
    table = f"{phone_recording.KERNEL:x} T from_the_table\n".encode()
    record = phone.Wide(number=phone.KERNEL_SYMBOL, body=phone.with_size(table))
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(phone_recording.session(), [record, *phone_recording.records()]))
    assert STACK.replace("el0_svc", "from_the_table") in stacks(path)


@pytest.mark.parametrize("kernel", ["[kernel.kallsyms]", "[kernel.kallsyms]_stext"])
def test_a_second_recording_has_names_of_its_own(tmp_path: Path, kernel: str) -> None:
    """Each recording names its own functions, even of one build and kernel."""
    first, second = tmp_path / "1.data", tmp_path / "2.data"
    known = (FILES[1], replace(FILES[2], symbols=FILES[2].symbols[1:]))
    for path, files in ((first, known), (second, FILES)):
        session = phone_recording.session(phone.FILE2, files)
        build_ids = (APK, bytes(range(20))), ("[kernel.kallsyms]", bytes(range(1, 21)))
        session = replace(session, features=replace(session.features, build_ids=build_ids))
        start = phone_recording.KERNEL
        mapped = forge.Mmap(
            pid=2**32 - 1, tid=0, addr=start, len=2**20, pgoff=start, filename=kernel, misc=k.KERNEL,
            stamp=forge.Stamp(id=1),
        )  # fmt: skip
        path.write_bytes(write_file(session, [mapped, *phone_recording.records()[1:]]))
    assert STACK in stacks(first, second)


def test_stacks_that_were_not_unwound_on_the_phone(tmp_path: Path) -> None:
    """``--no-unwind``: the kernel's part has addresses within calls, the one that is unwound here gets such, too."""
    sampled, caller = LIB + 0x108, LIB + 0x180  # behind the last instruction of ``caller``
    frame, stack = 0x7FFF_0000_0000, struct.pack("<QQ", 0, caller).ljust(64, b"\0")
    registers = forge.Registers(2, (0,) * 29 + (frame, caller, frame, sampled))
    event = forge.Event(
        "", sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN | k.REGS_USER | k.STACK_USER,
        sample_regs_user=2**33 - 1, sample_stack_user=64,
    )  # fmt: skip
    kernel = (k.CONTEXT_KERNEL, phone_recording.KERNEL + 0x20, phone_recording.KERNEL + 0x80)
    sample = forge.Sample(
        pid=PID, tid=PID, time=9, ip=kernel[1], mode=k.KERNEL, chain=kernel, regs_user=registers, stack=stack
    )
    session = forge.Session((event,), features=phone_recording.session().features)
    maps = [phone_recording.kernel_map(0, 2**64 - 1, "[kernel.kallsyms]"), phone_recording.mapping(LIB, APK, 0x1000)]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(session, [*maps, sample]))
    assert [stack.split(";")[-4:] for stack in stacks(path)] == [["caller", "app::work", "el0_svc", "el0_svc"]]


def test_a_dataset_keeps_the_names(recording: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    assert perf2x("fleet", "ingest", recording, "-o", tmp_path / "profiles").code == 0
    assert stacks(tmp_path / "profiles") == stacks(recording)


def test_files_may_tell_a_dataset_more(tmp_path: Path) -> None:
    """Names that the recording lacks are looked up when the dataset is converted."""
    pytest.importorskip("pyarrow")
    path, data = write_library(tmp_path / "root"), tmp_path / "perf.data"
    files = [replace(FILES[2], symbols=FILES[2].symbols[1:])]
    data.write_bytes(write_file(phone_recording.session(phone.FILE2, files), phone_recording.records()))
    assert perf2x("fleet", "ingest", data, "-o", tmp_path / "profiles").code == 0
    (before,), (after,) = (
        [one for one in stacks(tmp_path / "profiles", *words) if "caller" in one] for words in ((), ("--symfs", path))
    )
    assert "caller;[libapp.so]" in before
    assert "caller;their_own_name" in after
