"""Decodes compilers' discriminators, and names functions as compilers' sample profiles do."""

import re

from perf2x.base.frozen_struct import Frozen

_SUFFIXES = (".llvm.", ".part.")


class Llvm(Frozen):
    """LLVM's discriminators: base, copies and copy number packed, or (flow-sensitive) one number.

    Source of truth: llvm/include/llvm/Support/Discriminator.h and FunctionSamples::getCanonicalFnName in
    llvm/include/llvm/ProfileData/SampleProf.h.
    """

    flow_sensitive: bool = False

    def base(self, discriminator: int) -> int:
        """Return the part that distinguishes code on the same line."""
        return discriminator if self.flow_sensitive else _component(discriminator)

    def copies(self, discriminator: int) -> int:
        """Return the number of copies of the code that share a count: loops that were unrolled or vectorized."""
        return 1 if self.flow_sensitive else _component(_rest(discriminator)) or 1

    def name(self, name: str) -> str:
        """Return a name without the suffixes of a function's copies."""
        for suffix in _SUFFIXES:
            at = name.rfind(suffix)
            if at >= 0 and name.rfind(".") == at + len(suffix) - 1:
                name = name[:at]
        return name


def _component(bits: int) -> int:
    """Decode the first component: a set bit means 0; otherwise it has 5 bits, or 12 if bit 6 is set."""
    if bits & 1:
        return 0
    bits >>= 1
    return (bits >> 1 & 0xFE0) | (bits & 0x1F) if bits & 0x20 else bits & 0x1F


def _rest(bits: int) -> int:
    """Return the bits after the first component."""
    if bits & 1:
        return bits >> 1
    return bits >> (14 if bits & 0x40 else 7)


class Gcc(Frozen):
    """GCC's discriminators: one number or, from 16 on, base, copies and copy number in 8, 7 and 11 bits.

    They depend on the version: GCC 12 compares only lines. Source of truth: gcc/input.h and get_original_name in
    gcc/auto-profile.cc.
    """

    version: int

    def base(self, discriminator: int) -> int:
        """Return the part that distinguishes code on the same line."""
        return discriminator & (0xFF if self.version >= 16 else 0xFFFF if self.version > 12 else 0)

    def copies(self, discriminator: int) -> int:
        """Return the number of copies of the code that share a count: loops that were vectorized."""
        return (discriminator >> 8 & 0x7F if self.version >= 16 else 0) or 1

    def name(self, name: str) -> str:
        """Return a name without the suffixes of a function's copies."""
        name = _GCC_COPY.sub("", name) if self.version >= 16 else name.partition(".")[0] or name
        return _without_unified(name) if name.startswith("_Z") else name


_GCC_COPY = re.compile(r"(?<=.)(\.(isra|constprop|lto_priv|part|cold)\.\d+)+\Z")
_MANGLED = re.compile(r"(\d+)|[CD][0-9]|L[a-z]n?\d+E|A\d+_|[ST][0-9A-Z]*_|.", re.DOTALL)
"""Parts of a mangled name: an identifier's length, a constructor or destructor, other parts with digits, a character.
"""


def _without_unified(name: str) -> str:
    """Return the name with a base object constructor or destructor (C2, D2) in place of the unified one (C4, D4).

    Debug info names the unified one if it was inlined; GCC calls and inlines the base object's.
    """
    at = 2
    while piece := _MANGLED.match(name, at):
        if piece[0] in ("C4", "D4"):
            return name[: at + 1] + "2" + name[at + 2 :]
        at = piece.end() + int(piece[1] or 0)
    return name
