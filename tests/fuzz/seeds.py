"""Intact inputs of every kind, from the corpus and forged, each with the further files that a command needs."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.files.atomic import with_checksum
from tests.forge import Container, Session, simpleperf, write_file
from tests.forge.session import compress, zstd
from tests.fuzz import datasets
from tests.fuzz.mutations import BINARY, RECORDING, TEXT, Mutation
from tests.fuzz.records import SESSIONS, records
from tests.fuzz.server import URL
from tests.support import phone_recording
from tests.support.command import perf2x
from tests.support.recordings import CORPUS, ROOT
from tests.support.spe_traces import recording

LANGUAGES = ROOT / "tests" / "unit" / "symbolizer" / "data" / "lang"
DEMO = CORPUS / "common" / "symfs" / "demo"
DEBUG_INFO = ROOT / "tests" / "unit" / "symbolizer" / "data" / "debug_info"


@dataclass(frozen=True)
class Seed:
    """One intact input. ``{dir}`` in ``words`` is the directory that the files are put in."""

    kind: str
    name: str
    data: bytes
    """The bytes to damage."""
    mutations: tuple[Mutation, ...]
    file: str = "perf.data"
    """Path of the damaged bytes, after ``wrap``."""
    wrap: Callable[[bytes], bytes] = bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Other files, by their path."""
    words: tuple[str, ...] = ("--no-symbols",)
    """Options for every command that accepts them."""
    served: int | None = None
    """The size that a debuginfod server states for the damaged bytes, 0: no size. None: no server."""


def seeds() -> list[Seed]:
    """Return all seeds, in an order that does not depend on the machine."""
    return [
        *_recordings(),
        *_forged(),
        *_texts(),
        *_wrappers(),
        *_bundles(),
        *_symbols(),
        *_objects(),
        *_compiled(),
        *_archives(),
        *_remembered(),
        *_downloads(),
        *_datasets(),
    ]


def _recordings() -> Iterator[Seed]:
    for path in sorted(CORPUS.glob("*/perf.data*")):
        yield Seed("recording", path.parent.name, path.read_bytes(), RECORDING)
    for path in sorted((ROOT / "tests" / "unit" / "cli" / "data" / "stat").glob("*.data")):
        yield Seed("counts", path.stem, path.read_bytes(), RECORDING)


def _forged() -> Iterator[Seed]:
    for name, session in SESSIONS.items():
        yield Seed("forged", name, write_file(session, records()), RECORDING)
    yield Seed("forged", "Arm SPE", recording(0), RECORDING)
    for number in (simpleperf.FILE, simpleperf.FILE2):
        data = write_file(phone_recording.session(number), [*_own_records(), *phone_recording.records()])
        yield Seed("simpleperf", f"files {number}", data, RECORDING, words=())
    session = SESSIONS["file"]
    plain = b"".join(record.encode(session.events, session.order) for record in records())
    yield Seed("compressed records", "zstd", plain, BINARY, wrap=_in_compressed_records)


def _own_records() -> Iterator[simpleperf.Wide]:
    """Records of simpleperf with sizes of 32 bits: whole, and in parts."""
    symbols = simpleperf.with_size(b"ffffffc008080000 T el0_svc\n" * 3000)
    yield simpleperf.Wide(number=simpleperf.KERNEL_SYMBOL, body=symbols)
    yield from simpleperf.split(simpleperf.Wide(number=simpleperf.KERNEL_SYMBOL, body=symbols[:2000]), 600)
    yield simpleperf.Wide(number=simpleperf.EVENT_ID, body=struct.pack("<3Q", 1, 1, 3))


def _in_compressed_records(plain: bytes) -> bytes:
    """Return a recording whose compressed records unpack to ``plain``."""
    session = Session(events=SESSIONS["file"].events, features=SESSIONS["file"].features, zstd=700)
    pieces = compress((plain,), session)
    attrs = tuple((event.encode("<"), event.ids) for event in session.events)
    return Container("<", attrs, pieces, session.features.sections(session.events, "<")).to_file(False)


def _texts() -> Iterator[Seed]:
    """Yield texts that stand in the place of a recording."""
    for name in ("calls", "shapes", "task_end"):
        text = lzma.decompress((CORPUS / name / "script.txt.xz").read_bytes())[:60_000]
        yield Seed("text", f"perf script, {name}", text, TEXT, words=())
    with_lines = b"a 1/2 6.000100: 9 cycles: \n\t401136 in+0x1\n  a.c:3 (inlined)\n\t401136 out (/p)\n  a.c:9\n\n" * 9
    yield Seed("text", "source lines", with_lines, TEXT, words=())
    yield Seed("text", "folded", (ROOT / "tests" / "golden" / "small.folded").read_bytes() * 9, TEXT, words=())


def _wrappers() -> Iterator[Seed]:
    plain = (CORPUS / "calls" / "perf.data").read_bytes()
    for suffix, pack in (("gz", gzip.compress), ("xz", lzma.compress), ("zst", zstd().compress)):
        yield Seed("wrapper", suffix, pack(plain), BINARY, file=f"perf.data.{suffix}")


def _bundles() -> Iterator[Seed]:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, path in (("perf.data", "calls/perf.data"), ("symfs/demo/calls", "common/symfs/demo/calls")):
            tar.add(CORPUS / path, name, filter=_anonymous)
    yield Seed("bundle", "tar.gz", out.getvalue(), BINARY, "perf.tar.gz", gzip.compress, words=())
    yield Seed("bundle", "gzip", gzip.compress(out.getvalue(), mtime=0), BINARY, "perf.tar.gz", words=())


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def _symbols() -> Iterator[Seed]:
    recording = {"perf.data": (CORPUS / "calls" / "perf.data").read_bytes()}
    kallsyms = lzma.decompress((CORPUS / "calls" / "kallsyms.xz").read_bytes())[:200_000]
    words = ("--kallsyms", "{dir}/kallsyms")
    yield Seed("kallsyms", "calls", kallsyms, TEXT, "kallsyms", beside=recording, words=words)
    for name in ("node", "java", "cpython_map"):
        path = next((LANGUAGES / name).glob("perf-*.map"))
        beside = {"perf.data": (LANGUAGES / name / "perf.data").read_bytes()}
        words = ("--perf-map-dir", "{dir}", "--symfs", "{dir}")
        yield Seed("perf map", name, path.read_bytes(), TEXT, path.name, beside=beside, words=words)


def _objects() -> Iterator[Seed]:
    common = CORPUS / "common" / "symfs"
    words = ("--symfs", "{dir}/root", "--allow-build-id-mismatch")
    for name, folder in (("frames", "unwind"), ("frames_debug", "unwind_debug_frame"), ("shapes", "shapes")):
        beside = {"perf.data": (CORPUS / folder / "perf.data").read_bytes()}
        data = (common / "demo" / name).read_bytes()
        yield Seed("ELF", name, data, BINARY, f"root/demo/{name}", beside=beside, words=words)
    beside = {"perf.data": (CORPUS / "calls" / "perf.data").read_bytes()}
    for path in (DEBUG_INFO / "gnu5.so", DEBUG_INFO / "clang5.so", LANGUAGES.parent / "inlines.so"):
        yield Seed("DWARF", path.name, path.read_bytes(), BINARY, "root/demo/calls", beside=beside, words=words)
    vmlinux = ("--vmlinux", "{dir}/vmlinux", "--allow-build-id-mismatch")
    data = (DEBUG_INFO / "module.ko").read_bytes()
    yield Seed("ELF", "vmlinux", data, BINARY, "vmlinux", beside=beside, words=vmlinux)


def _compiled() -> Iterator[Seed]:
    path = next((LANGUAGES / "jit").glob("jit-*.dump"))
    beside = {"perf.data": (LANGUAGES / "jit" / "perf.data").read_bytes()}
    words = ("--symfs", "{dir}", "--perf-map-dir", "{dir}")
    yield Seed("jitdump", "jit", path.read_bytes(), BINARY, path.name, beside=beside, words=words)
    yield Seed("jitdump", "tmp", path.read_bytes(), BINARY, f"tmp/{path.name}", beside=beside, words=words)


def _archives() -> Iterator[Seed]:
    """Return a tarball of perf archive: the build-id cache of a recording."""
    beside = {"perf.data": (CORPUS / "shapes" / "perf.data").read_bytes()}
    program = CORPUS / "common" / "symfs" / "demo" / "shapes"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(program, f"demo/shapes/{open_elf(program).build_id.hex()}/elf", filter=_anonymous)
    for suffix, pack in (("bz2", bz2.compress), ("gz", gzip.compress)):
        words = ("--archive", f"{{dir}}/perf.data.tar.{suffix}")
        yield Seed(
            "archive", f"inside {suffix}", out.getvalue(), BINARY, f"perf.data.tar.{suffix}", pack, beside, words
        )
    words = ("--archive", "{dir}/perf.data.tar")
    yield Seed("archive", "bz2", bz2.compress(out.getvalue()), BINARY, "perf.data.tar", beside=beside, words=words)


def _remembered() -> Iterator[Seed]:
    """Yield remembered lines, with a checksum corrected after damage, and as they are."""
    recording, program = CORPUS / "calls" / "perf.data", LANGUAGES.parent / "inlines.so"
    beside = {"perf.data": recording.read_bytes(), "root/demo/calls": program.read_bytes()}
    words = ("--symfs", "{dir}/root", "--allow-build-id-mismatch")
    with tempfile.TemporaryDirectory() as home:
        place = Path(home, "root", "demo", "calls")
        place.parent.mkdir(parents=True)
        place.write_bytes(program.read_bytes())
        places = {"HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home}
        perf2x("top", recording, *(word.replace("{dir}", home) for word in words), env=places)
        kept = {path.relative_to(home).as_posix(): path.read_bytes() for path in Path(home).rglob("lines/*/*")}
    for name, data in sorted(kept.items()):
        yield Seed("remembered lines", "sealed", data[:-16], BINARY, f"home/{name}", with_checksum, beside, words)
        yield Seed("remembered lines", "as kept", data, BINARY, f"home/{name}", beside=beside, words=words)


def _downloads() -> Iterator[Seed]:
    """Yield a program with debug info from a debuginfod server, which states its size or does not."""
    words = ("--debuginfod", URL, "--symfs", "{dir}/root", "--allow-build-id-mismatch")
    for folder, program in (("calls", LANGUAGES.parent / "inlines.so"), ("unwind", DEMO / "frames")):
        beside = {"perf.data": (CORPUS / folder / "perf.data").read_bytes(), "root/none": b""}
        data = program.read_bytes()
        for told, size in (("size told", len(data)), ("size not told", 0)):
            yield Seed(
                "debuginfod", f"{program.name}, {told}", data, BINARY, "answer", beside=beside, words=words, served=size
            )


def _datasets() -> Iterator[Seed]:
    """Yield each file of a dataset as it is written, and a plain one; none without pyarrow."""
    files = datasets.files()
    for path, data in files.items():
        beside = {name: other for name, other in files.items() if name != path}
        table = Path(path).parts[1]
        if not path.endswith(".parquet"):
            yield Seed("log of a dataset", table, data, BINARY, path, beside=beside, words=())
            continue
        yield Seed("dataset", table, data, datasets.PARQUET, path, beside=beside, words=())
        yield Seed("plain dataset", table, datasets.plain(data, table), datasets.PARQUET, path, beside=beside, words=())
