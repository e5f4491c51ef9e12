"""Writes call frame information: entries of .eh_frame and .debug_frame, the sorted header, whole objects."""

import struct
from dataclasses import dataclass, field

from tests.support.tiny_elf import TinySection, tiny_elf

TEXT = 0x1000
EH_FRAME = 0x400000
EH_FRAME_HDR = 0x500000
MACHINES = {"x86_64": (62, 16, -8), "aarch64": (183, 30, -8), "i386": (3, 8, -4)}


def uleb(value) -> bytes:
    out = b""
    while True:
        value, byte = value >> 7, value & 0x7F
        out += bytes([byte | (0x80 if value else 0)])
        if not value:
            return out


def sleb(value) -> bytes:
    out = b""
    while True:
        byte, value = value & 0x7F, value >> 7
        done = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        out += bytes([byte | (0 if done else 0x80)])
        if done:
            return out


def advance(delta) -> bytes:
    return bytes([0x02, delta])


def def_cfa(register, offset) -> bytes:
    return b"\x0c" + uleb(register) + uleb(offset)


def def_cfa_expression(block) -> bytes:
    return b"\x0f" + uleb(len(block)) + block


def offset(register, bytes_from_cfa) -> bytes:
    """DW_CFA_offset_extended_sf for a data alignment of −8 (or −4 with a doubled count)."""
    return b"\x11" + uleb(register) + sleb(bytes_from_cfa // -8)


def undefined(register) -> bytes:
    return b"\x07" + uleb(register)


def same_value(register) -> bytes:
    return b"\x08" + uleb(register)


@dataclass
class Frame:
    """One FDE: code from ``start`` of ``size`` bytes and its instructions."""

    start: int
    size: int
    program: bytes = b""
    signal: bool = False


CALLS = b"\x90" * 10 + bytes.fromhex("ff1500013fd6")
"""Sixteen bytes that end with a call, call *rel32(%rip) as well as blr x8."""


@dataclass
class FrameFile:
    """A small object whose text, of any bytes, has these frames."""

    frames: list[Frame]
    machine: str = "x86_64"
    initial: bytes = b""
    text: bytes = CALLS * 0x400
    with_header: bool = True
    debug: list[Frame] = field(default_factory=list)
    more: list[TinySection] = field(default_factory=list)

    def eh_frame(self) -> tuple[bytes, list[int]]:
        """The section, and the offset of every FDE in it."""
        out, offsets, cies = b"", [], {}
        for frame in self.frames:
            if frame.signal not in cies:
                cies[frame.signal] = len(out)
                out += self._cie(frame.signal)
            offsets.append(len(out))
            place = EH_FRAME + len(out) + 8
            body = struct.pack("<iI", frame.start - place, frame.size) + uleb(0) + frame.program
            out += _entry(len(out) + 4 - cies[frame.signal], body)
        return out + bytes(4), offsets

    def header(self, offsets) -> bytes:
        pairs = sorted((frame.start, EH_FRAME + at) for frame, at in zip(self.frames, offsets, strict=True))
        table = b"".join(struct.pack("<ii", start - EH_FRAME_HDR, at - EH_FRAME_HDR) for start, at in pairs)
        return b"\x01\x1b\x03\x3b" + struct.pack("<iI", EH_FRAME - EH_FRAME_HDR - 4, len(pairs)) + table

    def debug_frame(self) -> bytes:
        _, register, alignment = MACHINES[self.machine]
        cie = b"\x03\0" + uleb(1) + sleb(alignment) + uleb(register) + self.initial
        out = _entry(0xFFFFFFFF, cie)
        for frame in self.debug:
            out += _entry(0, struct.pack("<QQ", frame.start, frame.size) + frame.program)
        return out

    def _cie(self, signal) -> bytes:
        _, register, alignment = MACHINES[self.machine]
        augmentation = b"zRS\0" if signal else b"zR\0"
        body = b"\x01" + augmentation + uleb(1) + sleb(alignment) + bytes([register]) + uleb(1) + b"\x1b"
        return _entry(0, body + self.initial)

    def bytes(self) -> bytes:
        frames, offsets = self.eh_frame()
        sections = [TinySection(".text", self.text, TEXT, flags=6)]
        if self.frames:
            sections.append(TinySection(".eh_frame", frames, EH_FRAME, flags=2))
        if self.frames and self.with_header:
            sections.append(TinySection(".eh_frame_hdr", self.header(offsets), EH_FRAME_HDR, flags=2))
        if self.debug:
            sections.append(TinySection(".debug_frame", self.debug_frame()))
        number = MACHINES[self.machine][0]
        return tiny_elf([*sections, *self.more], is_64=self.machine != "i386", machine=number)


def _entry(identity, body) -> bytes:
    padding = -(len(body) + 4) % 8
    return struct.pack("<II", len(body) + 4 + padding, identity & 0xFFFFFFFF) + body + bytes(padding)
