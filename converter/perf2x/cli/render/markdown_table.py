"""Markdown for a job summary or a comment on a pull request.

GitHub accepts 65,536 characters in a comment and 1 MiB in a job summary; a document fits both, with space left for the
user's own text. Names come from recordings and may contain any character. So they are put into code spans, in which
mentions, links and HTML have no effect, and escaped so that no name can break a table.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.fit_text import first_lines, shorten
from perf2x.cli.render.text_table import Layout
from perf2x.model.number_format import shortened_list
from perf2x.model.printable_text import escaped

MAX_BYTES = 60_000
"""Maximum size of a document in bytes of UTF-8."""
# Maximum width of a name in cells.
_NAME_WIDTH = 80
# Maximum width of a line in cells.
_LINE_WIDTH = 4096
# A table has this many lines before its rows: the headings, and the line that aligns the columns.
_LINES_BEFORE_ROWS = 2
# Characters that GitHub may take for markup, such as the colons of :emoji: and the dot of a domain name.
_MARKUP = re.compile(r""":(?=\S)|[!"#$&*+/<=>?@\[\\\]^_`{|}~]|\.(?=[^\W\d])""")
# A plus or an equals sign before a number, as in +1.2 % and total=5%, which is not markup.
_SIGN = re.compile(r"[+=](?=\d)")
# A word, without the punctuation mark that may follow it.
_WORD = re.compile(r"\S+?(?=[,.:;]?(?:\s|$))")
# Any punctuation mark of ASCII.
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


class Section(Frozen):
    """Some Markdown ("" for none), and a table below it, which is left out if it has no rows."""

    text: str
    layout: Layout


def markdown_document(
    heading: str, sections: Iterable[Section], max_bytes: int = MAX_BYTES, lines_before: Iterable[str] = ()
) -> Iterator[str]:
    """Return the lines of a document: ``lines_before``, the heading and the sections, up to ``max_bytes`` of UTF-8.

    If the document would be larger, its last line says how many lines were left out. ``heading`` and the texts of the
    sections are Markdown; recorded names in them must have passed through ``code``.
    """
    return first_lines(chain(lines_before, _document_lines(heading, sections)), max_bytes)


def lines_as_markdown(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a document that lists ``lines``, each in a code span: they contain recorded names."""
    items = (f"- {code(line.strip(), _LINE_WIDTH)}" for line in lines if line)
    return markdown_document(heading, [Section("\n".join(items), ())])


def code(name: str, room: int = _NAME_WIDTH) -> str:
    """Return a name in a code span that is also valid inside a table; a dash for an empty name.

    A name wider than ``room`` cells of a terminal is shortened.
    """
    name = shorten(escaped(name), room)
    if not name:
        return "–"
    if "`" in name or "\\" in name:
        # A backtick would end a code span between single backticks, and a backslash before a pipe would undo the pipe's
        # escape.
        return f"<code>{_PUNCTUATION.sub(lambda match: f'&#{ord(match.group())};', name)}</code>"
    return "`" + name.replace("|", "\\|") + "`"


def _prose(text: str) -> str:
    """Escape a sentence that may quote recorded names: no markup, mention or link remains."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", escaped(text))


def sentence_with_code(text: str) -> str:
    """Return a sentence in Markdown in which words with markup characters, such as recorded names, are code spans.

    Unlike ``_prose``, it escapes nothing as an entity (``&#95;``), because people also read the sentence in logs.
    """

    def as_code(match: re.Match[str]) -> str:
        word = match.group()
        # a code span may contain backticks, if its fence is a longer run of them and spaces separate both
        fence, space = "`" * (1 + max(map(len, re.findall("`*", word)))), " " * ("`" in word)
        return f"{fence}{space}{word}{space}{fence}" if _MARKUP.search(_SIGN.sub("", word)) else word

    return _WORD.sub(as_code, escaped(text))


def escape_tildes(text: str) -> str:
    """Escape the tildes in a text of perf2x's own, so that they do not start strikethrough."""
    return text.replace("~", "\\~")


def name_list(names: Sequence[str]) -> str:
    """Return the names of recordings for a heading, as Markdown: the first name, and the number of others."""
    return shortened_list([*map(code, names)], 1)


def _document_lines(heading: str, sections: Iterable[Section]) -> Iterator[str]:
    """Yield all lines of a document, with an empty line before each text and each table."""
    yield f"### {heading}"
    for section in sections:
        yield from ("", *section.text.split("\n")) if section.text else ()
        lines = _table_lines(section)
        yield from ("", *lines) if len(lines) > _LINES_BEFORE_ROWS else ()


def _table_lines(section: Section) -> list[str]:
    """Return the lines of a table: headings, alignment of the columns, rows."""
    layout = section.layout
    escapes = [code if column.is_name else escape_tildes for column in layout]
    rows = zip(*(column.texts for column in layout), strict=True)
    return [
        _table_row([_prose(column.head) for column in layout]),
        _table_row([":--" if column.is_name else "--:" for column in layout]),
        *(_table_row([escape(cell) for escape, cell in zip(escapes, row, strict=True)]) for row in rows),
    ]


def _table_row(cells: Sequence[str]) -> str:
    """Return a row of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
