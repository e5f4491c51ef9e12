"""``python -m tests.abi_drift [HEADER]``: compare our copy of the kernel's numbers with a linux/perf_event.h.

The kernel keeps copies of its own headers under tools/ and warns when they drift apart; this does so for ours.
A difference is a warning, never a failure: a newer header only means that there is something to look at.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path

from perf2x.base.abi import struct_layouts, uapi

INSTALLED = "/usr/include/linux/perf_event.h"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ENUMERATOR = re.compile(r"\b(PERF_\w+)\s*=\s*([^,}\n]+)")
_DEFINE = re.compile(r"^#define\s+(PERF_\w+)\s+(\S.*)$", re.MULTILINE)
_BIT_FIELD = re.compile(r"\b(\w+)\s*:\s*(\d+)\s*[,;]")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*")

FAMILIES: tuple[tuple[str, type[IntEnum], str], ...] = (
    ("PERF_RECORD_", uapi.RecordType, r"PERF_RECORD_(?!MAX|MISC|KSYMBOL_)\w+"),
    ("PERF_SAMPLE_", uapi.SampleType, r"PERF_SAMPLE_(?!MAX|BRANCH_(?!STACK)|REGS_ABI)\w+"),
    ("PERF_FORMAT_", uapi.ReadFormat, r"PERF_FORMAT_(?!MAX)\w+"),
    ("PERF_TYPE_", uapi.EventType, r"PERF_TYPE_(?!MAX)\w+"),
    ("PERF_COUNT_SW_", uapi.SoftwareConfig, r"PERF_COUNT_SW_(?!MAX)\w+"),
    ("PERF_CONTEXT_", uapi.CallchainContext, r"PERF_CONTEXT_(?!MAX)\w+"),
)
"""Prefix, our enumeration, and a pattern of the header's names that belong to it."""
KNOWN_PARTLY = (("PERF_SAMPLE_BRANCH_", uapi.BranchSampleType),)
"""Enumerations of which we keep only the members that we need."""
MISC = tuple(name for name in vars(uapi) if name.startswith("MISC_") and name != "MISC_CPUMODE_MASK")


def differences(text: str) -> list[str]:
    """Describe each number that differs between this package and the header's text, one sentence each."""
    plain = _COMMENT.sub(" ", text)
    known = header_numbers(plain)
    found = [
        line for prefix, family, pattern in FAMILIES for line in _compare_enumeration(prefix, family, pattern, known)
    ]
    for prefix, family in KNOWN_PARTLY:
        found += _compare_known({prefix + str(member.name): int(member) for member in family}, known)
    found += _compare_known({f"PERF_RECORD_{name}": int(vars(uapi)[name]) for name in MISC}, known)
    return found + _compare_attr_sizes(known) + _compare_attr_flags(plain)


def header_numbers(plain: str) -> dict[str, int]:
    """Evaluate all enumerators and macros of a header without comments; values may name others."""
    raw = dict(_DEFINE.findall(plain)) | dict(_ENUMERATOR.findall(plain))
    known: dict[str, int] = {}
    for _ in range(3):
        for name, expression in raw.items():
            value = _evaluate(expression, known)
            if value is not None:
                known[name] = value
    return known


def _evaluate(expression: str, known: Mapping[str, int]) -> int | None:
    """Evaluate ``1U << 5``, ``(__u64)-32``, ``(7 << 0)``, ``1U << NAME``, as the header uses them; None for others."""
    text = re.sub(r"\(__u64\)", "", expression).strip().strip("()")
    negative = text.startswith("-")
    parts = [_operand(part, known) for part in text.lstrip("-").split("<<")]
    if any(part is None for part in parts) or len(parts) > 2:
        return None
    first, *shift = [part for part in parts if part is not None]
    value = first << shift[0] if shift and shift[0] < 64 else first
    return 2**64 - value if negative else value


def _operand(part: str, known: Mapping[str, int]) -> int | None:
    text = part.strip().strip("()").strip()
    if _NUMBER.fullmatch(text):
        return int(text.rstrip("uUlL"), 0)
    return known.get(text)


def _compare_enumeration(prefix: str, family: type[IntEnum], pattern: str, known: Mapping[str, int]) -> Iterator[str]:
    ours = {prefix + str(member.name): int(member) for member in family}
    yield from _compare_known(ours, known)
    for name, value in known.items():
        if name not in ours and re.fullmatch(pattern, name):
            yield f"{name} = {value:#x} is in the header and not here"


def _compare_known(ours: Mapping[str, int], known: Mapping[str, int]) -> list[str]:
    found = []
    for name, value in ours.items():
        if name not in known:
            found.append(f"{name} = {value:#x} is here and not in the header")
        elif known[name] != value:
            found.append(f"{name} is {value:#x} here and {known[name]:#x} in the header")
    return found


def _compare_attr_sizes(known: Mapping[str, int]) -> list[str]:
    ours = {f"PERF_ATTR_SIZE_VER{number}": size for number, (size, _) in enumerate(struct_layouts.ATTR_REVISIONS)}
    new = [name for name in known if re.fullmatch(r"PERF_ATTR_SIZE_VER\d+", name) and name not in ours]
    return _compare_known(ours, known) + [f"{name} = {known[name]} is in the header and not here" for name in new]


def _compare_attr_flags(plain: str) -> list[str]:
    """Compare the bit fields of struct perf_event_attr in order; precise_ip is two bits wide and takes two names."""
    body = re.search(r"struct perf_event_attr \{(.*?)\n\};", plain, re.DOTALL)
    if body is None:
        return ["struct perf_event_attr is not in the header"]
    theirs: list[str] = []
    for name, width in _BIT_FIELD.findall(body[1].partition("__reserved_1")[0]):
        theirs += [name] if width == "1" else [name, f"{name}_hi"]
    pairs = enumerate(zip(uapi.ATTR_FLAGS, theirs, strict=False))
    found = [f"attr flag {bit} is {ours} here and {name} in the header" for bit, (ours, name) in pairs if ours != name]
    found += [f"attr flag {name} is here and not in the header" for name in uapi.ATTR_FLAGS[len(theirs) :]]
    return found + [f"attr flag {name} is in the header and not here" for name in theirs[len(uapi.ATTR_FLAGS) :]]


def main(arguments: list[str]) -> int:
    """Print the differences; return 0 in any case, since they are for people to judge."""
    path = Path(arguments[0] if arguments else INSTALLED)
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        print(f"warning: {path}: {error.strerror}")
        return 0
    found = differences(text)
    for line in found:
        print(f"warning: {path}: {line}")
    print(f"{path}: {len(found) or 'no'} difference{'' if len(found) == 1 else 's'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
