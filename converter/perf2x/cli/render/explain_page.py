"""The report of ``perf2x explain`` in every format."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from perf2x.cli.render.markdown_table import lines_as_markdown
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import WITHOUT_TERMINAL, Screen
from perf2x.model.printable_text import plain
from perf2x.tools.explain.explain_object import Explanation

_LABEL = 14


def explain_report(explanations: Sequence[Explanation], refused: Mapping[str, str]) -> Report:
    """Return the objects in every format; JSON and CSV also list those that were ``refused`` (path: sentence)."""

    def facts() -> dict[str, Any]:
        objects = [to_builtins(one) for one in explanations]
        return {"objects": objects, "refused": [{"path": path, "error": text} for path, text in refused.items()]}

    return Report(
        lambda screen: _object_lines(explanations, screen),
        facts,
        lambda: lines_as_markdown("perf2x explain", _object_lines(explanations, Screen(WITHOUT_TERMINAL))),
    )


def _object_lines(explanations: Sequence[Explanation], screen: Screen) -> Iterator[str]:
    """Yield lines for every object, separated by empty lines."""
    for number, one in enumerate(explanations):
        if number:
            yield ""
        yield screen.paint(f"{plain(one.path)}:", "bold")
        last = ""
        for label, text in _explanation_lines(one):
            head = f"{'' if label == last else label:{_LABEL}}"
            yield f"  {screen.paint(head, 'bold')}{plain(text)}"
            last = label


def _explanation_lines(one: Explanation) -> Iterator[tuple[str, str]]:
    """Yield (label, text), answers first."""
    yield from ((label, answer.text) for label, answer in one.answers.items())
    yield from (("try", f"{advice.what}: {advice.command}") for advice in one.advice)
    yield "build id", one.build_id or "none"
    yield from (("sections", f"{file.file}: {', '.join(file.sections) or 'none'}") for file in one.files)
    yield from (("looked at", f"{place.path}: {place.result}") for place in one.looked_at)
    yield from (("not taken", text) for text in one.troubles)
