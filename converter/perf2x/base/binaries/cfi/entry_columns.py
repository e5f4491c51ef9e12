"""Headers of many little-endian FDEs side by side; what is unusual is left to `FrameSection.fde`.

::

    FDE of .eh_frame     | length | CIE pointer | start | size | length of data, data | instructions … |
    bytes                  4        4             w       w      1                n      up to the end

Unusual are lengths of 64 bits, odd encodings of pointers, augmentation data of 128 bytes and more, and all damage.
"""

import numpy as np

from perf2x.base.abi.callframe import PointerBase, PointerFormat
from perf2x.base.binaries.cfi.byte_cursor import FIXED
from perf2x.base.binaries.cfi.frame_entries import Cie, FrameSection
from perf2x.base.columnar import I64, U64, AnyArray, Bools, Frozen, as_int64, falses, flatnonzero, unique_inverse, zeros
from perf2x.base.errors import ObjectError

_WIDE = 0xFFFFFFFF
"""A length that says: 64 bits follow. In .debug_frame, the CIE pointer of a CIE."""
_HEADER = 8
"""Bytes of a length and a CIE pointer."""


class FdeColumns(Frozen):
    """``n`` FDEs of one section; all other columns are only valid where ``is_plain``."""

    is_plain: Bools
    cies: list[Cie]
    cie: I64
    """(n,) index into ``cies``"""
    start: U64
    """(n,) svma"""
    end: U64
    instructions: I64
    """(n,) offset of the first one"""
    stop: I64
    """(n,) offset behind the last one"""


def fde_columns(section: FrameSection, offset: I64) -> FdeColumns:
    """Decode the headers of the FDEs at ``offset`` (n,)."""
    count = len(offset)
    none = zeros(count)
    plain = (offset >= 0) & (offset <= len(section.data) - _HEADER)
    if not plain.any():
        return FdeColumns(plain, [], none, none.view(np.uint64), none.view(np.uint64), none, none)
    at = np.where(plain, offset, 0)
    length, pointer = _words(section, "I", at), _words(section, "I", at + 4)
    plain &= (length != _WIDE) & (pointer != (0 if section.is_eh else _WIDE))
    stop = at + 4 + length
    plain &= stop <= len(section.data)
    place, cie = unique_inverse(np.where(plain, at + 4 - pointer if section.is_eh else pointer, -1))
    cies, is_known = _cies(section, place)
    plain &= is_known[cie]
    start, end, body = none.view(np.uint64).copy(), none.view(np.uint64).copy(), at + _HEADER
    for number, one in enumerate(cies):
        rows = flatnonzero(plain & (cie == number))
        if len(rows):
            plain[rows], start[rows], end[rows], body[rows] = _in_cie(section, one, body[rows], stop[rows])
    return FdeColumns(plain, cies, cie, start, end, body, stop)


_NO_CIE = Cie(1, 1, 0, 0, 8, 0, False, False, (0, 0))


def _cies(section: FrameSection, place: I64) -> tuple[list[Cie], Bools]:
    """The CIEs at offsets, and which of them are there."""
    cies, known = [], falses(len(place))
    for number, offset in enumerate(place.tolist()):
        try:
            cies.append(section.cie(offset))
            known[number] = True
        except ObjectError:
            cies.append(_NO_CIE)
    return cies, known


def _in_cie(section: FrameSection, cie: Cie, at: I64, stop: I64) -> tuple[Bools, U64, U64, I64]:
    """Decode FDEs of one CIE from behind their CIE pointer: which are plain, start, end, first instruction."""
    code = _word_of(cie)
    at = at + cie.segment_size
    width = np.dtype(code).itemsize if code else 0
    plain = at + 2 * width <= stop
    if code is None or not plain.any():
        nothing = np.zeros(len(at), np.uint64)
        return falses(len(at)), nothing, nothing, at
    here = np.where(plain, at, 0)
    start = _words(section, code, here).view(np.uint64)
    if cie.pointer_encoding & 0x70 == PointerBase.PCREL:
        start = start + (np.uint64(section.address) + here.view(np.uint64))
    start &= np.uint64(2**64 - 1 if cie.address_size == 8 else 2**32 - 1)
    size = _words(section, code, here + width)
    end = start + size.view(np.uint64)
    plain &= ((size >= 0) | (code == "Q")) & (end >= start)
    return _behind_data(section, cie, plain, here + 2 * width, stop, (start, end))


def _behind_data(
    section: FrameSection, cie: Cie, plain: Bools, at: I64, stop: I64, range_of: tuple[U64, U64]
) -> tuple[Bools, U64, U64, I64]:
    """Skip the augmentation data (personality and language data) of FDEs of one CIE."""
    if cie.has_augmentation_data:
        plain &= at < stop
        length = _words(section, "B", np.where(plain, at, 0))
        at = at + 1 + length
        plain &= (length < 128) & (at <= stop)
    return plain, *range_of, at


def _word_of(cie: Cie) -> str | None:
    """The type of a CIE's addresses in its FDEs, None if they are none of fixed size."""
    base, form = cie.pointer_encoding & 0xF0, cie.pointer_encoding & 0x0F
    if base not in (PointerBase.ABSOLUTE, PointerBase.PCREL):
        return None
    if form == PointerFormat.ABSPTR:
        return "Q" if cie.address_size == 8 else "I"
    return FIXED.get(form)


def _words(section: FrameSection, code: str, at: I64) -> I64:
    """(n,) int64: the integers with a letter of struct at offsets of any alignment, all within the section."""
    dtype = np.dtype("<" + code)
    whole: AnyArray = np.ndarray((len(section.data) - dtype.itemsize + 1,), dtype, section.data, 0, (1,))
    return as_int64(whole[at])  # of 64 bits, two's complement
