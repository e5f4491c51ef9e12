"""Differences from perf's text that perf itself causes; no other difference passes."""

from collections.abc import Mapping

from tests.support.against_perf import Outcome

PERFS_DOING = {
    "left open by perf, completed": "the record came before the sample, or an exec changed the thread id",
    "left open by perf, missing": "the file has no record with that cookie",
    "comm": "perf names the thread as it is called when the deferred record is delivered, or :TID after its EXIT",
    "objects that perf lost": "perf forgets a process at its EXIT record, also when a non-leader thread calls exec",
}
"""Verdict to reason; verdicts may be combined."""


def explained(
    name: str,
    outcome: Outcome,
    comms: Mapping[int, set[str]],
    allowed: frozenset[str] = frozenset(PERFS_DOING),
) -> None:
    """Every verdict is ``equal`` or made of allowed ones; a different comm is one that the thread had (``comms``)."""
    left = {verdict: outcome.examples[verdict] for verdict in outcome.verdicts if not _parts(verdict) <= allowed}
    assert not left, f"{name}: {dict(outcome.verdicts)}\n{left}"
    for ours, block in outcome.renamed:
        names = {f":{ours.tid}", *comms.get(ours.tid, ())}
        assert block.comm in names, f"{name}: {block.comm!r} was never the name of {ours.tid}: {sorted(names)}"


def _parts(verdict: str) -> set[str]:
    if verdict == "equal":
        return set()
    if verdict.startswith("left open by perf, "):
        first, _, rest = verdict.removeprefix("left open by perf, ").partition(", ")
        return {f"left open by perf, {first}"} | ({rest} if rest else set())
    return set(verdict.split(", "))
