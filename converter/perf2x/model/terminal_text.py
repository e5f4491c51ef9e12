"""Escapes text for terminals and logs: any recorded name prints as one line of harmless characters.

A name from a file may hold escape sequences that rewrite the screen, line breaks that forge a log line, or marks that
turn the direction of the text around. Everything that is printed goes through ``plain``, messages through ``message``.
"""

NAME_LENGTH = 120
"""Characters that a message spends on one name."""
WORD_LENGTH = 400
"""Characters of a word in a message; paths that people type are shorter."""
MESSAGE_LENGTH = 4000


def plain(text: str) -> str:
    r"""Escape the characters that are not printable: ``\x1b``, ``\n``, ``\u202e``.

    These are control characters (C0, C1, DEL), line and paragraph separators, marks of direction and other invisible
    characters, lone surrogates, and spaces other than the usual one.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def short(name: str, most: int = NAME_LENGTH) -> str:
    """Escape a name and shorten it to ``most`` characters: a long one keeps its beginning and its end."""
    name = plain(name)
    if len(name) <= most:
        return name
    head = most // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def message(line: str) -> str:
    """Escape a line and bound its length; words that nobody would type are shortened in the middle."""
    line = plain(line)
    if len(line) > WORD_LENGTH:
        line = " ".join(short(word, WORD_LENGTH) for word in line.split(" "))
    return short(line, MESSAGE_LENGTH)
