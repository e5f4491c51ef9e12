"""Parts of LLVM's discriminators, and names of functions as LLVM's sample profiles have them.

Source of truth: llvm/include/llvm/Support/Discriminator.h and FunctionSamples::getCanonicalFnName in
llvm/include/llvm/ProfileData/SampleProf.h.
"""

from msgspec import Struct

_SUFFIXES = (".llvm.", ".part.")


class Discriminators(Struct, frozen=True):
    """A program's kind of discriminators: base, copies and copy number packed, or (flow-sensitive) one number."""

    flow_sensitive: bool = False

    def base(self, discriminator: int) -> int:
        """Return the number that tells apart what stands on one line."""
        return discriminator if self.flow_sensitive else _component(discriminator)

    def copies(self, discriminator: int) -> int:
        """Return how many copies of the code share a count: loops that were unrolled or vectorized."""
        return 1 if self.flow_sensitive else _component(_rest(discriminator)) or 1


def _component(bits: int) -> int:
    """Decode the first component: a set bit for 0; else 5 bits, or 12 of which bit 6 says that they follow."""
    if bits & 1:
        return 0
    bits >>= 1
    return (bits >> 1 & 0xFE0) | (bits & 0x1F) if bits & 0x20 else bits & 0x1F


def _rest(bits: int) -> int:
    """Return the bits behind the first component."""
    if bits & 1:
        return bits >> 1
    return bits >> (14 if bits & 0x40 else 7)


def canonical_name(name: str) -> str:
    """Return a name without what LLVM appended to tell copies of a function apart."""
    for suffix in _SUFFIXES:
        at = name.rfind(suffix)
        if at >= 0 and name.rfind(".") == at + len(suffix) - 1:
            name = name[:at]
    return name
