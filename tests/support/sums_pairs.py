"""Every option of ``perf2x convert`` with every output format, on a dataset of sums in place of each recording.

``python -m tests.support.sums_pairs`` prints the table.
"""

import sys

from tests.support.command import perf2x
from tests.support.option_pairs import CODE, FORMATS, HARMLESS, Place, pairs, print_table

NONE = (*CODE, "perf-script")
"""Formats that take no dataset."""
TIMED = ("chrome", "firefox", "perfetto")
SUMS = tuple(name for name in FORMATS if name not in (*NONE, *TIMED))
_NAMED = "code that only its recording can name is named when it is added: tests/unit/sources/dataset/test_equality.py"


class SumsPlace(Place):
    """A folder with a dataset of each recording of the cases, as ``fleet ingest`` makes it."""

    harmless = (*HARMLESS, (SUMS, ("--kallsyms", "--vmlinux", "--perf-map-dir"), _NAMED))

    def inputs(self, on: str) -> tuple[str, ...]:
        """The dataset of a case's recording, and the options of its names."""
        source, *names = super().inputs(on)
        if on == "dataset":
            return (source, *names)
        folder = self.folder / f"sums-{on}"
        if not folder.exists():
            assert perf2x("fleet", "ingest", source, *names, "-o", folder, "-q").code == 0
        return (folder.name, *names)


if __name__ == "__main__":
    print_table(lambda folder: pairs(SumsPlace(folder), tuple(sys.argv[1:]) or SUMS))
