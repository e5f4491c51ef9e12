"""Hexadecimal columns and runs of words, against one row at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.text_columns import differs_from_previous, hex_numbers

LETTERS = st.sampled_from([*b"0123456789abcdefABCDEF", *b"/:@G`g\0 \x7f\x80\xb0\xe1\xff"])
DIGITS = st.sampled_from(b"0123456789abcdefABCDEF")


def scalar_number(digits) -> int | None:
    """None where a byte is no digit; int() takes underscores and spaces."""
    return int(digits, 16) if all(byte in b"0123456789abcdefABCDEF" for byte in digits) else None


@given(st.integers(1, 16), st.data())
def test_numbers_as_one_by_one(width, data) -> None:
    row = st.lists(DIGITS, min_size=width, max_size=width).map(bytes)
    damaged = st.lists(LETTERS, min_size=width, max_size=width).map(bytes)
    rows = data.draw(st.lists(row | damaged, max_size=9))
    rows += rows[-1:]  # the same upper digits as the row before
    text = b"".join(one + b" T a" for one in rows)
    at = np.arange(len(rows), dtype=np.int64) * (width + 4)
    value, valid = hex_numbers(text, at, width)
    expected = [scalar_number(one) for one in rows]
    assert valid.tolist() == [number is not None for number in expected]
    assert [number for number, good in zip(value.tolist(), valid, strict=True) if good] == [
        number for number in expected if number is not None
    ]


WORDS = st.sampled_from(
    [b"", b"a", b"bpf", b"snd_hda", b"snd_hdb", b"snd_hda_codec_hdmi", b"snd_hda_codec_hdmx", b"\xff" * 16]
)


@given(st.lists(WORDS, max_size=12), st.binary(max_size=3))
def test_runs_as_word_by_word(words, between) -> None:
    text, start, end = b"", [], []
    for word in words:
        start.append(len(text))
        end.append(len(text) + len(word))
        text += word + between
    columns = np.array(start, np.int64), np.array(end, np.int64)
    assert differs_from_previous(text, *columns).tolist() == [
        row == 0 or words[row - 1] != word for row, word in enumerate(words)
    ]
