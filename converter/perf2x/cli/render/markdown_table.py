"""Markdown for a job summary or a comment on a pull request: limited in size, with tables that no name can break.

GitHub accepts 65,536 characters in a comment and 1 MiB in a job summary; a document fits both, with space for the
user's own text. Names are in code spans, in which mentions, links and HTML have no effect.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.fit_text import first_lines, shorten
from perf2x.cli.render.text_table import Layout
from perf2x.model.number_format import first_of
from perf2x.model.printable_text import plain

MOST = 60_000
"""Maximum size of a document in bytes of UTF-8."""
# Maximum width of a name in cells.
_NAME_WIDTH = 80
# Maximum width of a line in cells.
_LINE = 4096
# Number of lines of a table before its rows.
_HEADING = 2
_MARKUP = re.compile(r""":(?=\S)|[!"#$&*+/<=>?@\[\\\]^_`{|}~]|\.(?=[^\W\d])""")
# A plus or equals sign before a number, where it is not markup.
_SIGN = re.compile(r"[+=](?=\d)")
# A word, without punctuation that ends a clause.
_WORD = re.compile(r"\S+?(?=[,.:;]?(?:\s|$))")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


class Section(Frozen):
    """A table with Markdown above it, ``""`` for none."""

    text: str
    layout: Layout


def markdown_document(
    heading: str, sections: Iterable[Section], most: int = MOST, ahead: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the lines ``ahead``, the heading and the sections.

    Lines beyond ``most`` bytes are omitted, and counted in a line of their own.

    ``heading`` and the sections' texts are Markdown; recorded names in them must have passed through ``code``.
    """
    return first_lines(chain(ahead, _document_lines(heading, sections)), most)


def lines_as_markdown(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """Return a document of lines that may quote recorded names, as a list; paths and commands can be copied."""
    listed = (f"- {code(line.strip(), _LINE)}" for line in lines if line)
    return markdown_document(heading, [Section("\n".join(listed), ())])


def code(name: str, room: int = _NAME_WIDTH) -> str:
    """Return a name in a code span that is also valid inside a table; a dash for none."""
    name = shorten(plain(name), room)
    if not name:
        return "–"
    if "`" in name or "\\" in name:
        # A code span cannot contain a backtick, and a backslash might meet an escaped pipe.
        return f"<code>{_PUNCTUATION.sub(lambda found: f'&#{ord(found.group())};', name)}</code>"
    return "`" + name.replace("|", "\\|") + "`"


def _prose(text: str) -> str:
    """Escape a sentence that may quote recorded names: no markup, mention or link remains."""
    return _MARKUP.sub(lambda found: f"&#{ord(found.group())};", plain(text))


def sentence_with_code(text: str) -> str:
    """Return a sentence that may quote recorded names; words with markup characters become code spans.

    People also read it in logs, so it has no entities.
    """

    def shown(found: re.Match[str]) -> str:
        word = found.group()
        fence, room = "`" * (1 + max(map(len, re.findall("`*", word)))), " " * ("`" in word)
        return f"{fence}{room}{word}{room}{fence}" if _MARKUP.search(_SIGN.sub("", word)) else word

    return _WORD.sub(shown, plain(text))


def escape_tildes(text: str) -> str:
    """Escape perf2x's own text: a tilde means "about", and must not start strikethrough."""
    return text.replace("~", "\\~")


def name_list(names: Sequence[str]) -> str:
    """Return names of recordings for a heading: the first, and the number of others."""
    return first_of([*map(code, names)], 1)


def _document_lines(heading: str, sections: Iterable[Section]) -> Iterator[str]:
    yield f"### {heading}"
    for section in sections:
        yield from ("", *section.text.split("\n")) if section.text else ()
        lines = _table_rows(section)
        yield from ("", *lines) if len(lines) > _HEADING else ()


def _table_rows(section: Section) -> list[str]:
    """Return the lines of a table; there are two before the rows."""
    layout = section.layout
    shown = [code if column.is_name else escape_tildes for column in layout]
    rows = zip(*(column.texts for column in layout), strict=True)
    return [
        _table_row([_prose(column.head) for column in layout]),
        _table_row([":--" if column.is_name else "--:" for column in layout]),
        *(_table_row([show(cell) for show, cell in zip(shown, row, strict=True)]) for row in rows),
    ]


def _table_row(cells: Sequence[str]) -> str:
    """Return a row of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
