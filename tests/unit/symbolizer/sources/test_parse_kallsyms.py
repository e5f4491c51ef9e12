"""kallsyms: the numpy parser agrees with a plain one; invalid files are refused."""

import contextlib
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.errors import ObjectError
from perf2x.symbolizer.sources.parse_kallsyms import parse_kallsyms, read_kallsyms

TEXT = b"""\
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t do_one
ffffffff81000080 A ignored
ffffffff81000100 W weak_one
ffffffff81000200 r read_only
ffffffff81000300 D some_data
ffffffffc0000000 t mod_init\t[snd_hda]
ffffffffc0000010 t mod_more\t[snd_hda]
ffffffffc0005000 t other\t[ext4]
"""


def lookup(text, *addresses) -> list[str | None]:
    table = parse_kallsyms(text, "test")
    rows = table.index().find(np.array(addresses, np.uint64))
    return [table.name(int(row)) if row >= 0 else None for row in rows]


def test_symbols_end_at_the_next_one_and_the_later_of_two_wins() -> None:
    assert lookup(TEXT, 0xFFFFFFFF81000010, 0xFFFFFFFF810000FF, 0xFFFFFFFF81000100) == ["_text", "do_one", "weak_one"]


def test_modules_do_not_fill_the_gap_after_them() -> None:
    assert lookup(TEXT, 0xFFFFFFFF81001000, 0xFFFFFFFF81003000) == ["some_data", None]
    assert lookup(TEXT, 0xFFFFFFFFC0000011, 0xFFFFFFFFC0002000, 0xFFFFFFFFC0005FFF) == ["mod_more", None, "other"]


def test_names_of_a_livepatch_for_functions_of_others_name_nothing() -> None:
    """They lie at these functions' addresses, behind them in the file, where the later of two would win."""
    patch = b"ffffffff81000040 t .klp.sym.vmlinux.do_one,1\t[patch]\nffffffff81000080 t .klp.other\t[patch]\n"
    assert lookup(TEXT + patch, 0xFFFFFFFF81000044, 0xFFFFFFFF81000084) == ["do_one", ".klp.other"]


def test_modules_are_known_by_name() -> None:
    table = parse_kallsyms(TEXT, "test")
    assert table.modules == ["snd_hda", "ext4"]
    assert table.address_of("do_one") == 0xFFFFFFFF81000040
    assert table.address_of("mod_init") is None and table.address_of("absent") is None


def test_hidden_addresses_are_reported() -> None:
    with pytest.raises(ObjectError, match="kptr_restrict"):
        parse_kallsyms(b"0000000000000000 T _text\n0000000000000000 t f\n", "test")


@pytest.mark.parametrize("text", [b"", b"\n", b"x", b"not kallsyms at all\n", b"\x7fELF\0\0\0", b"ffff T \n"])
def test_other_files_are_refused(text) -> None:
    with pytest.raises(ObjectError):
        parse_kallsyms(text, "test")


def test_compressed_copies_are_read(tmp_path) -> None:
    path = tmp_path / "kallsyms.xz"
    path.write_bytes(lzma.compress(TEXT))
    assert read_kallsyms(path).address_of("_text") == 0xFFFFFFFF81000000


def scalar_parse(text) -> list[tuple[int, str, str, str]]:
    found = []
    for line in text.split(b"\n"):
        parts = line.split(b" ", 2)
        if len(parts) == 3 and len(parts[1]) == 1 and parts[1].upper() in b"TWDB" and parts[2] and parts[2][:1] != b"$":
            name, _, module = parts[2].partition(b"\t")
            found.append((int(parts[0], 16), name, module.strip().strip(b"[]").decode()))
    return found


LINES = st.tuples(
    st.integers(0, 2**64 - 1), st.sampled_from("TtWwDdBbRrAa"),
    st.text(alphabet="abc_$.", min_size=1, max_size=6), st.sampled_from(["", "\t[m]", "\t[n]", "\t[bpf]"]),
)  # fmt: skip


@given(st.lists(LINES, min_size=1))
def test_parser_agrees_with_a_plain_one(lines) -> None:
    text = "".join(f"{address:016x} {letter} {name}{module}\n" for address, letter, name, module in lines).encode()
    wanted = scalar_parse(text)
    if not any(address for address, _, _ in wanted):
        return
    table = parse_kallsyms(text, "test")
    modules = [table.modules[row] if row >= 0 else "" for row in table.module.tolist()]
    rows = zip(table.start.tolist(), modules, strict=True)
    assert [(start, table.name(row).encode(), module) for row, (start, module) in enumerate(rows)] == wanted


@given(st.binary(max_size=200))
def test_flipped_text_gives_symbols_or_an_object_error(noise) -> None:
    for text in (noise, TEXT[: len(noise)], TEXT + noise, noise + TEXT):
        with contextlib.suppress(ObjectError):
            parse_kallsyms(text, "test").index().find(np.array([0, 2**64 - 1], np.uint64))
