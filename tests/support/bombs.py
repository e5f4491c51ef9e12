"""Small files that unpack to large ones: each maker writes one and says how it is to be read."""

import lzma
import struct
import tarfile
import zlib
from pathlib import Path

from tests import forge
from tests.forge.session import container, zstd

EVENTS = (forge.Event(),)
MIB = 1 << 20


def recording() -> bytes:
    """A small recording that is whole."""
    return forge.write_file(forge.Session(events=EVENTS), [forge.Sample(pid=1, tid=1, ip=5)])


def packed(compressor: object, head: bytes, size: int) -> bytes:
    """``head`` and ``size`` zeros, compressed piece by piece."""
    pieces = [compressor.compress(head)]  # type: ignore[attr-defined]
    pieces += [compressor.compress(bytes(MIB)) for _ in range(size // MIB)]  # type: ignore[attr-defined]
    return b"".join([*pieces, compressor.flush()])  # type: ignore[attr-defined]


def gz(head: bytes, size: int) -> bytes:
    """Compress zeros as gzip does, 1 : 1000."""
    return packed(zlib.compressobj(9, wbits=31), head, size)


def xz(head: bytes, size: int) -> bytes:
    """1 : 7000."""
    return packed(lzma.LZMACompressor(preset=1), head, size)


def zst(head: bytes, size: int) -> bytes:
    """1 : 16000."""
    return packed(zstd().ZstdCompressor(), head, size)


def sparse_tar(size: int) -> bytes:
    """A bundle of 10,752 bytes whose recording is a sparse file (GNU) of any size, a single block of which is there."""
    info = tarfile.TarInfo("perf.data")
    info.size, info.type = 512, tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:398] = b"%011o\0" % (size - 512)  # where the only block lies, and how long it is
    header[398:410] = b"%011o\0" % 512
    header[483:495] = b"\x80" + size.to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header).ljust(10_752, b"\0")


def large_member(size: int) -> bytes:
    """The start of a bundle whose recording has ``size`` bytes, most of them to come."""
    info = tarfile.TarInfo("perf.data")
    info.size = size
    return info.tobuf() + recording()


def large_header(size: int) -> bytes:
    """A bundle that begins with an extended header (pax) of ``size`` bytes."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf(tarfile.GNU_FORMAT) + f"{size} comment=".encode()


def many_headers(number: int) -> bytes:
    """Extended headers, one behind the other, which Python's tarfile reads by calling itself."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 11
    return (info.tobuf(tarfile.GNU_FORMAT) + b"11 path=xy\n".ljust(512, b"\0")) * number


def member_header(name: str, size: int) -> bytes:
    """Return the header of a file of that many bytes."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def whole_member() -> bytes:
    """A bundle that holds a recording and has no end yet."""
    data = recording()
    return member_header("perf.data", len(data)) + data + bytes(-len(data) % 512)


def many_members(number: int) -> bytes:
    """A bundle with so many empty files behind its recording."""
    return whole_member() + member_header("other", 0) * number


def tiny_records(number: int, record: bytes = struct.pack("<IHH", 68, 0, 8)) -> bytes:
    """A recording whose compressed records hold the same record ``number`` times."""
    compressor, whole = zstd().ZstdCompressor(), bytearray()
    block = record * (MIB // len(record))
    for _ in range(number // (MIB // len(record)) + 1):
        whole += compressor.compress(block, compressor.FLUSH_BLOCK)
    pieces = [bytes(whole[at : at + 65_000]) for at in range(0, len(whole), 65_000)]
    records = tuple(struct.pack("<IHH", 81, 0, 8 + len(piece)) + piece for piece in pieces)
    plain = container(forge.Session(events=EVENTS), [])
    return forge.Container(plain.order, plain.attrs, records, plain.features).to_file()


def comm_record() -> bytes:
    """The smallest record that becomes a row of a table."""
    return container(forge.Session(events=EVENTS), [forge.Comm(pid=1, tid=1, comm="a")]).records[0]


def long_record() -> bytes:
    """A record of 32 KiB."""
    return struct.pack("<IHH", 68, 0, 1 << 15) + bytes((1 << 15) - 8)


def unfinished() -> bytes:
    """A recording without an end; records may follow."""
    return forge.write_file(forge.Session(events=EVENTS, unfinished=True), [])


def write(path: Path, data: bytes) -> Path:
    """A bomb on disk."""
    path.write_bytes(data)
    return path
