"""Reads the answers of binutils and LLVM that lie beside test programs."""

import re


def addr2line(path) -> dict[tuple[str, int], list[tuple[str, str, int]]]:
    """{(section, address): [(function, file, line)]} innermost first, from ``addr2line -i -f -a``, LLVM's too.

    What stands before the address is the section, "" without one.
    """
    found, function = {}, ""
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"(\S*?) ?0x([0-9a-f]+)", line):
            found[match[1], int(match[2], 16)] = rows = []
        elif match := re.fullmatch(r"(.*):(\d+|\?)(?: \(discriminator \d+\))?", line):
            file, number = match.groups()
            rows.append((function, "" if file == "??" else file, int(number) if number.isdigit() else 0))
        else:
            function = line
    return found
