"""Counts of what was skipped, lost or guessed."""

import re
from pathlib import Path

import perf2x
from perf2x.base import diagnostics as declared
from perf2x.base.diagnostics import Diagnostics, Severity, losses_in_comments
from perf2x.model.profile import Meta
from perf2x.model.transforms.merge_profiles import merged_meta


def test_losses_are_neither_guesses_nor_remarks() -> None:
    diagnostics = Diagnostics()
    for severity in Severity:
        advice = "look again" if severity is Severity.LOSS else ""
        diagnostics.add(f"a_{severity}", advice, severity=severity)
    assert [count.name for count in diagnostics.losses] == ["a_loss"]
    sentences = [count.text_with_advice for count in diagnostics.counts.values()]
    assert sentences == ["1 a info", "1 a guess", "1 a loss; look again"]


def test_a_name_tells_its_severity() -> None:
    diagnostics = Diagnostics()
    for name in ("guessed_frames", "file_cut", "debug_info_in_dwo", "of_a_plugin"):
        diagnostics.add(name, "")
    found = {count.name: count.severity for count in diagnostics.counts.values()}
    assert found == {
        "guessed_frames": Severity.GUESS, "file_cut": Severity.LOSS,
        "debug_info_in_dwo": Severity.INFO, "of_a_plugin": Severity.LOSS,
    }  # fmt: skip


def test_what_the_program_counts_is_declared_and_what_is_declared_is_counted() -> None:
    files = [path for path in Path(perf2x.__file__).parent.rglob("*.py") if path != Path(declared.__file__)]
    source = "\n".join(path.read_text() for path in files)
    counted = set(re.findall(r'(?:iagnostics\.add|damage\.add|\bnote)\(\s*"(\w+)"', source))
    names = [name for words in declared._DESCRIPTIONS.values() for name in words]
    assert len(names) == len(set(names))
    assert len(counted) > 40
    assert counted <= set(names)
    in_parts = {"trace_truncated", "trace_partial", "trace_collision"}
    assert {name for name in names if f'"{name}"' not in source} == in_parts


def test_losses_of_merged_profiles_are_added_up() -> None:
    """Equal counts of two recordings are two counts; guesses, and what else comments say, are no losses."""
    metas = [
        Meta(comments=("perf2x-lost_samples:191", "perf2x-start-time:given", f"perf2x-file_cut:{cut}"))
        for cut in (1, 1, 2)
    ]
    more = Meta(comments=("perf2x-guessed_frames:9", "see perf2x-lost_samples:7", "perf2x-lost_samples:7 more"))
    assert losses_in_comments(merged_meta([*metas, more]).comments) == [
        ("lost_samples", 573, "573 lost samples"),
        ("file_cut", 4, "4 bytes missing at the end of the file"),
    ]
