"""Decodes compilers' discriminators, and names functions as compilers' sample profiles do.

A discriminator (DWARF 5, 6.2.2) distinguishes code on the same line by its *base*. If the compiler copied the code
(unrolled or vectorized loops), the discriminator also has the number of *copies*, and a number for this copy. A sample
in a copy stands for as many executions of the source as there are copies.
"""

import re

from perf2x.base.frozen_struct import Frozen

_LLVM_SUFFIXES = (".llvm.", ".part.")


class Llvm(Frozen):
    """LLVM's discriminators: packed base, copies and copy number; flow-sensitive ones are just one number.

    Source of truth: llvm/include/llvm/Support/Discriminator.h and SampleProf.h (getCanonicalFnName).
    """

    flow_sensitive: bool = False

    def base(self, discriminator: int) -> int:
        """Return the component that distinguishes code on the same line."""
        return discriminator if self.flow_sensitive else _first_component(discriminator)

    def copies(self, discriminator: int) -> int:
        """Return the number of copies of the code that share a count; 1 if it was not copied."""
        return 1 if self.flow_sensitive else _first_component(_after_first_component(discriminator)) or 1

    def profile_name(self, name: str) -> str:
        """Return a function's name as in profiles, without suffixes such as ``.llvm.123``."""
        for suffix in _LLVM_SUFFIXES:
            start = name.rfind(suffix)
            if start >= 0 and name.rfind(".") == start + len(suffix) - 1:
                name = name[:start]
        return name


def _first_component(bits: int) -> int:
    """Decode the component in the lowest 1, 7 or 14 bits, which are shown here with the highest bit first::

                 1    the value is 0
           0vvvvv0    five bits of the value
    vvvvvvv1vvvvv0    twelve bits
    """
    if bits & 1:
        return 0
    bits >>= 1
    return (bits >> 1 & 0xFE0) | (bits & 0x1F) if bits & 0x20 else bits & 0x1F


def _after_first_component(bits: int) -> int:
    if bits & 1:
        return bits >> 1
    return bits >> (14 if bits & 0x40 else 7)


class Gcc(Frozen):
    """GCC's discriminators: just one number or, since GCC 16, base, copies and copy number in 8, 7 and 11 bits.

    Source of truth: gcc/input.h and get_original_name in gcc/auto-profile.cc.
    """

    version: int

    def base(self, discriminator: int) -> int:
        """Return the component that distinguishes code on the same line; GCC up to 12 ignores it."""
        return discriminator & (0xFF if self.version >= 16 else 0xFFFF if self.version > 12 else 0)

    def copies(self, discriminator: int) -> int:
        """Return the number of copies of the code that share a count; 1 if it was not copied."""
        return (discriminator >> 8 & 0x7F if self.version >= 16 else 0) or 1

    def profile_name(self, name: str) -> str:
        """Return a function's name as in profiles, without suffixes such as ``.constprop.0``."""
        name = _GCC_SUFFIXES.sub("", name) if self.version >= 16 else name.partition(".")[0] or name
        return _with_base_object(name) if name.startswith("_Z") else name


_GCC_SUFFIXES = re.compile(r"(?<=.)(\.(isra|constprop|lto_priv|part|cold)\.\d+)+\Z")
_MANGLED_PART = re.compile(r"(\d+)|[CD][0-9]|L[a-z]n?\d+E|A\d+_|[ST][0-9A-Z]*_|.", re.DOTALL)
"""The next part of a mangled name; group 1 is the length of an identifier, which follows."""


def _with_base_object(name: str) -> str:
    """Replace a unified constructor or destructor (C4, D4) by that of the base object (C2, D2).

    Debug info names the unified one if it was inlined; GCC calls and inlines the base object's.
    """
    position = 2  # after _Z
    while part := _MANGLED_PART.match(name, position):
        if part[0] in ("C4", "D4"):
            return name[: position + 1] + "2" + name[position + 2 :]
        position = part.end() + int(part[1] or 0)  # an identifier may contain C4
    return name
