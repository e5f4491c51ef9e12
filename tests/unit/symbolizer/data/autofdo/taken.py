"""Prints the branches that a program took: taken.py DISASSEMBLY < ADDRESSES, one ``from to`` a line."""

import re
import sys
from itertools import pairwise
from pathlib import Path

starts = [int(at, 16) for at in re.findall(r"^\s+([0-9a-f]+):\t", Path(sys.argv[1]).read_text(), re.MULTILINE)]
behind = dict(pairwise(starts))
for here, there in pairwise(int(line, 16) for line in sys.stdin):
    if behind.get(here) != there:
        print(f"{here:x} {there:x}")
