"""The skill file for coding agents, which needs no extra."""

import re

from tests.support.command import perf2x


def test_the_skill_file_is_printed_and_names_only_options_that_exist() -> None:
    """test_documents.py runs its commands."""
    printed = perf2x("mcp", "--skill")
    assert printed.code == 0
    assert printed.out.startswith("---\nname: perf2x\ndescription: ")
    assert len(printed.out.split()) < 600
    known = " ".join(perf2x(*name.split(), "--help-all").out for name in ("top", "report", "diff", "info", "convert"))
    inline = re.findall(r"`(--[\w-]+)", printed.out)
    assert len(inline) > 3 and [one for one in inline if one not in known and one != "--help"] == []


def test_a_server_without_folders_is_refused() -> None:
    assert perf2x("mcp").err == "perf2x: name the folders with the recordings: perf2x mcp FOLDER\n"
