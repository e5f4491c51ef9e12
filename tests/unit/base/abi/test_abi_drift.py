"""The comparison with a header warns once for each difference."""

from pathlib import Path

import pytest

from perf2x.base.abi import struct_layouts, uapi
from tests.abi_drift import FAMILIES, KNOWN_PARTLY, MISC, differences, main


def _as_written(value: int) -> str:
    if value > 2**63:
        return f"(__u64)-{2**64 - value}"
    return f"1U << {value.bit_length() - 1}" if value.bit_count() == 1 and value > 64 else str(value)


def _header() -> str:
    """Write a header with exactly our numbers, in the kernel's notations."""
    lines = ["/* PERF_RECORD_IN_A_COMMENT = 77, */", "enum numbers {"]
    for prefix, family, _ in FAMILIES:
        lines += [f"\t{prefix}{member.name} = {_as_written(int(member))}, /* why */" for member in family]
    for prefix, partly in KNOWN_PARTLY:
        lines += [f"\t{prefix}{bit.name}_SHIFT = {int(bit).bit_length() - 1}," for bit in partly]
        lines += [f"\t{prefix}{bit.name} = 1U << {prefix}{bit.name}_SHIFT," for bit in partly]
    lines += ["\tPERF_RECORD_MAX, PERF_SAMPLE_MAX = 1U << 25,", "};", "#define PERF_RECORD_MISC_CPUMODE_MASK (7 << 0)"]
    lines += [f"#define PERF_RECORD_{name} (1 << {vars(uapi)[name].bit_length() - 1})" for name in MISC]
    lines += [f"#define PERF_ATTR_SIZE_VER{row} {size}" for row, (size, _) in enumerate(struct_layouts.ATTR_REVISIONS)]
    flags = [name for name in uapi.ATTR_FLAGS if name != "precise_ip_hi"]
    fields = "\n".join(f"\t\t{name} : {2 if name == 'precise_ip' else 1}, /* {name} : 9 */" for name in flags)
    tail = "\n\t\t__reserved_1 : 24;\n\tunion { __u32 aux_action; struct { __u32 aux_pause : 1; }; };\n};"
    return "\n".join(lines) + f"\nstruct perf_event_attr {{\n\t__u64 disabled_word;\n{fields}{tail}\n"


def test_an_equal_header_has_no_differences() -> None:
    assert differences(_header()) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("PERF_RECORD_MMAP2 = 10", "PERF_RECORD_MMAP2 = 30", "PERF_RECORD_MMAP2 is 0xa here and 0x1e in the header"),
        ("PERF_RECORD_MAX,", "PERF_RECORD_NEWS = 23,", "PERF_RECORD_NEWS = 0x17 is in the header and not here"),
        ("PERF_SAMPLE_AUX = 1U << 20,", "", "PERF_SAMPLE_AUX = 0x100000 is here and not in the header"),
        ("defer_output : 1,", "defer_output : 1, later : 1,", "attr flag later is in the header and not here"),
        ("comm : 1,", "komm : 1,", "attr flag 9 is comm here and komm in the header"),
        ("VER9 144", "VER9 152", "PERF_ATTR_SIZE_VER9 is 0x90 here and 0x98 in the header"),
        (
            "MISC_COMM_EXEC (1 << 13)",
            "MISC_COMM_EXEC (1 << 12)",
            "PERF_RECORD_MISC_COMM_EXEC is 0x2000 here",
        ),
    ],
)
def test_each_difference_is_reported(old: str, new: str, said: str) -> None:
    changed = _header().replace(old, new, 1)
    assert changed != _header()
    found = differences(changed)
    assert len(found) == 1 and found[0].startswith(said)


def test_the_exit_code_is_always_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = tmp_path / "perf_event.h"
    header.write_text(_header())
    assert main([str(header)]) == 0 and "no differences" in capsys.readouterr().out
    assert main([str(tmp_path / "absent.h")]) == 0 and "No such file" in capsys.readouterr().out
