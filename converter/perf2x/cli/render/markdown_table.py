"""Markdown for a job summary or a comment on a pull request: tables that no name can break, of a bounded size.

GitHub takes 65,536 characters in a comment and 1 MiB in a job summary; a document from here fits both, with room for
words of the user's own. Names stand in code spans, where neither mentions nor links nor HTML work.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.fit_text import first_lines, shorten
from perf2x.cli.render.text_table import Layout, name_column, text_column
from perf2x.model.number_format import first_of
from perf2x.model.printable_text import plain

MOST = 60_000
"""Bytes of UTF-8 in a document."""
_NAME_WIDTH = 80
"""Cells of a name."""
_HEADING = 2
"""Lines of a table before its rows."""
_MARKUP = re.compile(r""":(?=\S)|[!"#$&*+/<=>?@\[\\\]^_`{|}~]|\.(?=[^\W\d])""")
_SIGN = re.compile(r"[+=](?=\d)")
"""Before a number it is no markup."""
_WORD = re.compile(r"\S+?(?=[,.:;]?(?:\s|$))")
"""Without the end of a clause."""
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


class Section(Frozen):
    """A table with Markdown above it, ``""`` for none."""

    text: str
    layout: Layout
    room: int = _NAME_WIDTH
    """Cells of a recorded name; a longer one is shortened in the middle."""


def pair_section(text: str, head: str, pairs: Iterable[tuple[str, str]], room: int) -> Section:
    """A table of labels of ours, with a heading, and recorded texts."""
    labels, texts = zip(*pairs, strict=True)
    return Section(text, [text_column(head, labels), name_column("", texts)], room)


def markdown_document(
    heading: str, sections: Iterable[Section], most: int = MOST, ahead: Iterable[str] = ()
) -> Iterator[str]:
    """Lines: those ``ahead``, the heading, the sections.

    Lines beyond ``most`` bytes are left out, and counted in a line of their own.

    ``heading`` and the sections' texts are Markdown; recorded names in them went through ``code``.
    """
    return first_lines(chain(ahead, _document_lines(heading, sections)), most)


def code(name: str, room: int = _NAME_WIDTH) -> str:
    """A name in a code span that also holds inside a table; a dash for none."""
    name = shorten(plain(name), room)
    if not name:
        return "–"
    if "`" in name or "\\" in name:
        # A code span could not hold the backtick, and a backslash might meet a pipe that is escaped.
        return f"<code>{_PUNCTUATION.sub(lambda found: f'&#{ord(found.group())};', name)}</code>"
    return "`" + name.replace("|", "\\|") + "`"


def _prose(text: str) -> str:
    """A sentence that may quote recorded names: no character of it is markup, a mention or a link."""
    return _MARKUP.sub(lambda found: f"&#{ord(found.group())};", plain(text))


def sentence_with_code(text: str) -> str:
    """A sentence that may quote recorded names: words with characters of markup stand in code spans.

    People read it in logs, too, so it has no entities.
    """

    def shown(found: re.Match[str]) -> str:
        word = found.group()
        fence, room = "`" * (1 + max(map(len, re.findall("`*", word)))), " " * ("`" in word)
        return f"{fence}{room}{word}{room}{fence}" if _MARKUP.search(_SIGN.sub("", word)) else word

    return _WORD.sub(shown, plain(text))


def escape_tildes(text: str) -> str:
    """Words and numbers of ours: a tilde means "about", and does not begin to strike out."""
    return text.replace("~", "\\~")


def name_list(names: Sequence[str]) -> str:
    """Names of recordings for a heading: the first, and the number of others."""
    return first_of([*map(code, names)], 1)


def _document_lines(heading: str, sections: Iterable[Section]) -> Iterator[str]:
    yield f"### {heading}"
    for section in sections:
        yield from ("", *section.text.split("\n")) if section.text else ()
        lines = _table_rows(section)
        yield from ("", *lines) if len(lines) > _HEADING else ()


def _table_rows(section: Section) -> list[str]:
    """Lines of a table; there are two before the rows."""
    layout, name = section.layout, partial(code, room=section.room)
    shown = [name if column.recorded else str if column.name else escape_tildes for column in layout]
    rows = zip(*(column.cells for column in layout), strict=True)
    return [
        _table_row([_prose(column.head) for column in layout]),
        _table_row([":--" if column.name else "--:" for column in layout]),
        *(_table_row([show(cell) for show, cell in zip(shown, row, strict=True)]) for row in rows),
    ]


def _table_row(cells: Sequence[str]) -> str:
    """A row of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
