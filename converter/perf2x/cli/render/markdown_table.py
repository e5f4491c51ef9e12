"""Markdown for a job summary or a comment on a pull request. GitHub accepts 65,536 characters in a comment.

Recorded names may contain anything, so they are put into code spans, where mentions, links and HTML have no effect.
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
# Maximum width of a name, in cells.
_NAME_WIDTH = 80
# Maximum width of a line in `lines_as_markdown`, in cells.
_LINE_WIDTH = 4096
# Number of lines above the rows of a table: the headings, and the line that aligns the columns.
_LINES_BEFORE_ROWS = 2
# Characters that GitHub may take for markup, even the colons of :emoji: and the dot of a domain name.
_MARKUP = re.compile(r""":(?=\S)|[!"#$&*+/<=>?@\[\\\]^_`{|}~]|\.(?=[^\W\d])""")
# A sign before a number is not markup.
_SIGN = re.compile(r"[+=](?=\d)")
_WORD = re.compile(r"\S+?(?=[,.:;]?(?:\s|$))")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


class Section(Frozen):
    """Some Markdown ("" for none), and a table below it, which is left out if it has no rows."""

    text: str
    layout: Layout


def markdown_document(
    heading: str, sections: Iterable[Section], max_bytes: int = MAX_BYTES, lines_before: Iterable[str] = ()
) -> Iterator[str]:
    """Return the lines of a document: ``lines_before``, the heading and the sections, up to ``max_bytes`` of UTF-8.

    Recorded names in ``heading`` and in texts must have passed through ``code``.
    """
    return first_lines(chain(lines_before, _document_lines(heading, sections)), max_bytes)


def lines_as_markdown(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a document that lists ``lines``, each in a code span."""
    items = (f"- {code(line.strip(), _LINE_WIDTH)}" for line in lines if line)
    return markdown_document(heading, [Section("\n".join(items), ())])


def code(name: str, room: int = _NAME_WIDTH) -> str:
    """Return a name in a code span that is also valid inside a table; a dash for an empty name."""
    name = shorten(escaped(name), room)
    if not name:
        return "–"
    if "`" in name or "\\" in name:
        # a backtick would end the code span, and a backslash would undo the escape of a pipe
        return f"<code>{_PUNCTUATION.sub(lambda match: f'&#{ord(match.group())};', name)}</code>"
    return "`" + name.replace("|", "\\|") + "`"


def _prose(text: str) -> str:
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", escaped(text))


def sentence_with_code(text: str) -> str:
    """Return a sentence in which words with markup characters are code spans.

    It has no entities (``&#95;``) as in `_prose`, because people also read it in logs.
    """

    def as_code(match: re.Match[str]) -> str:
        word = match.group()
        # a span may contain backticks if its fence is longer than any run of them, with a space inside each end
        fence, space = "`" * (1 + max(map(len, re.findall("`*", word)))), " " * ("`" in word)
        return f"{fence}{space}{word}{space}{fence}" if _MARKUP.search(_SIGN.sub("", word)) else word

    return _WORD.sub(as_code, escaped(text))


def escape_tildes(text: str) -> str:
    """Escape tildes, which would start strikethrough."""
    return text.replace("~", "\\~")


def name_list(names: Sequence[str]) -> str:
    """Return as Markdown the first of the names, and the number of others."""
    return shortened_list([*map(code, names)], 1)


def _document_lines(heading: str, sections: Iterable[Section]) -> Iterator[str]:
    yield f"### {heading}"
    for section in sections:
        yield from ("", *section.text.split("\n")) if section.text else ()
        lines = _table_lines(section)
        yield from ("", *lines) if len(lines) > _LINES_BEFORE_ROWS else ()


def _table_lines(section: Section) -> list[str]:
    layout = section.layout
    escapes = [code if column.is_name else escape_tildes for column in layout]
    rows = zip(*(column.texts for column in layout), strict=True)
    return [
        _table_row([_prose(column.head) for column in layout]),
        _table_row([":--" if column.is_name else "--:" for column in layout]),
        *(_table_row([escape(cell) for escape, cell in zip(escapes, row, strict=True)]) for row in rows),
    ]


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
