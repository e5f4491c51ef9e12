"""Code has the same place in every recording of the same file, module or kernel, wherever it lay in memory."""

import pytest

from perf2x.sources.dataset.dataset_schema import KEY
from perf2x.sources.dataset.write.profile_places import ProfilePlaces, code_objects, profile_places
from perf2x.sources.dataset.write.recording_to_store import StoredRecording
from perf2x.sources.dataset.write.table_rows import recording_tables
from tests.support.profile_builder import MappingRow, make_profile

ONE, OTHER = b"1" * 16, b"2" * 16
ELF = "a1b2"
Place = tuple[str | int, ...]


def place_of(mappings: list[MappingRow], address: int, mapping: int = 0, recording: bytes = ONE) -> Place:
    return key_of(places_of(mappings, [(mapping, address)], recording))


def key_of(places: ProfilePlaces) -> Place:
    """Return the key of the first place: object, offset, mode, return, variant."""
    keys = places.keys
    words = (int(column[0]) for column in (keys.offset, keys.mode, keys.is_return, keys.variant))
    return places.object_ids[int(places.object[0])], *words


def places_of(mappings: list[MappingRow], frames: list[tuple[int, int]], recording: bytes = ONE) -> ProfilePlaces:
    profile = make_profile(mappings, frames)
    objects = code_objects(profile.mappings, profile.strings, recording)
    return profile_places(profile.locations, objects, recording)


def kernel(start: int, build_id: str = ELF, reference: int | None = None) -> MappingRow:
    return (start, start + 0x100000, start if reference is None else reference, "[kernel.kallsyms]_text", build_id, -1)


SHARED: dict[str, tuple[MappingRow, int, MappingRow, int]] = {
    "a file at another address": (
        (0x1000, 0x9000, 0x400, "/bin/x", ELF, 7), 0x1010, (0x51000, 0x59000, 0x400, "/bin/x", ELF, 8), 0x51010,
    ),
    "a file of one build under another name": (
        (0x1000, 0x9000, 0, "/bin/x", ELF, 7), 0x1010, (0x1000, 0x9000, 0, "/opt/x", ELF, 7), 0x1010,
    ),
    "another piece of the file": (
        (0x1000, 0x9000, 0, "/bin/x", ELF, 7), 0x3010, (0x1000, 0x9000, 0x2000, "/bin/x", ELF, 7), 0x1010,
    ),
    "a file without a build id, by its path": (
        (0x1000, 0x9000, 0, "/bin/x", "", 7), 0x1010, (0x51000, 0x59000, 0, "/bin/x", "", 8), 0x51010,
    ),
    "a kernel that lies elsewhere": (
        kernel(0xFFFFFFFF81000000), 0xFFFFFFFF81000123, kernel(0xFFFFFFFFA5200000), 0xFFFFFFFFA5200123,
    ),
    "a module that lies elsewhere": (
        (0xFFFFFFFFC0000000, 0xFFFFFFFFC0009000, 0, "[xfs]", ELF, -1), 0xFFFFFFFFC0000040,
        (0xFFFFFFFFC1230000, 0xFFFFFFFFC1239000, 0, "[xfs]", ELF, -1), 0xFFFFFFFFC1230040,
    ),
    "a vDSO of known build": (
        (0x7FFC00000000, 0x7FFC00002000, 0, "[vdso]", ELF, 7), 0x7FFC00000700,
        (0x7FFD00000000, 0x7FFD00002000, 0, "[vdso]", ELF, 8), 0x7FFD00000700,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SHARED.values(), ids=list(SHARED))
def test_shared_code_has_one_place(case: tuple[MappingRow, int, MappingRow, int]) -> None:
    mapping, address, other, there = case
    assert place_of([mapping], address) == place_of([other], there, recording=OTHER)
    assert place_of([mapping], address) != place_of([other], there + 1, recording=OTHER)
    assert not places_of([mapping], [(0, address)]).is_local.any()


OWN: dict[str, MappingRow] = {
    "memory without a file": (0x1000, 0x9000, 0, "//anon", "", 7),
    "a dump of just-in-time compiled code": (0x1000, 0x9000, 0x40, "/tmp/jit-7.dump", "", 7),
    "a vDSO of unknown build": (0x1000, 0x9000, 0, "[vdso]", "", 7),
    "a kernel of unknown build": kernel(0xFFFFFFFF81000000, build_id=""),
    "a kernel whose place was hidden": kernel(0xFFFFFFFF81000000, reference=0),
    "a module of unknown build": (0xFFFFFFFFC0000000, 0xFFFFFFFFC0009000, 0, "[xfs]", "", -1),
    "code that the kernel made": (0xFFFFFFFFC0000000, 0xFFFFFFFFC0009000, 0, "bpf_prog_6deef7357e7b4530", "", -1),
    "a guest's kernel": (0xFFFFFFFFC0000000, 0xFFFFFFFFC0009000, 0, "[guest.kernel.kallsyms]", ELF, -1),
    "a file whose offsets do not fit into 64 bits": (0x1000, 0x9000, 2**64 - 0x1000, "/bin/x", ELF, 7),
}


@pytest.mark.parametrize("mapping", OWN.values(), ids=list(OWN))
def test_other_code_is_its_recordings_own(mapping: MappingRow) -> None:
    address = mapping[0] + 16
    assert place_of([mapping], address) != place_of([mapping], address, recording=OTHER)
    assert places_of([mapping], [(0, address)]).is_local.all()


def test_memory_of_two_processes_differs() -> None:
    one: MappingRow = (0x1000, 0x9000, 0, "//anon", "", 7)
    assert place_of([one], 0x1010) != place_of([(*one[:5], 8)], 0x1010)


def test_pieces_that_overlap_are_told_apart() -> None:
    """Both hold the byte at 0x2010 of the file, and a profile has two locations for it."""
    pieces = [(0x1000, 0x9000, 0, "/bin/x", ELF, 7), (0x51000, 0x58000, 0, "/bin/x", ELF, 7),
              (0x71000, 0x72000, 0x8000, "/bin/x", ELF, 7)]  # fmt: skip
    places = places_of(pieces, [(0, 0x3010), (1, 0x53010), (2, 0x71010)])
    assert places.keys.offset.tolist() == [0x2010, 0x2010, 0x8010]
    assert places.keys.variant.tolist() == [0, 1, 0]


def test_addresses_that_no_mapping_holds() -> None:
    """Those of programs mean nothing anywhere, those of a kernel hold for one boot."""
    user, kernel_address = 0x1234, 0xFFFFFFFF81000000
    assert place_of([], user, -1) == place_of([], user, -1, OTHER)
    assert place_of([], kernel_address, -1) != place_of([], kernel_address, -1, OTHER)


def test_frames_that_stand_for_no_code_are_the_same_everywhere() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'perf2x[fleet]')")
    one, other = (make_profile([], [], synthetic=[name]) for name in ("[truncated stack]", "[corrupt stack]"))
    rows = [
        dict(recording_tables(StoredRecording(recording, profile, {}), "attempt"))["places"].to_pylist()[0]
        for profile in (one, other) for recording in (ONE, OTHER)
    ]  # fmt: skip
    ids = [tuple(row[name] for name in KEY) for row in rows]
    assert ids[0] == ids[1]
    assert ids[2] == ids[3] != ids[0]
    assert [row["file"] for row in rows[1:3]] == ["[truncated stack]", "[corrupt stack]"]
    assert not any(row["is_local"] for row in rows)
