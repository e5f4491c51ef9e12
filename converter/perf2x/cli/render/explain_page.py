"""The report of ``perf2x explain`` in every format."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from perf2x.cli.render.markdown_table import lines_as_markdown
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import WIDTH_WITHOUT_TERMINAL, Screen
from perf2x.model.printable_text import escaped
from perf2x.tools.explain.explain_object import Explanation

_LABEL_WIDTH = 14  # cells


def explain_report(explanations: Sequence[Explanation], refused: Mapping[str, str]) -> Report:
    """Return the report in every format; only JSON and CSV list the sentences in ``refused``."""

    def facts() -> dict[str, Any]:
        objects = [to_builtins(explanation) for explanation in explanations]
        return {"objects": objects, "refused": [{"path": path, "error": text} for path, text in refused.items()]}

    return Report(
        lambda screen: _object_lines(explanations, screen),
        facts,
        lambda: lines_as_markdown("perf2x explain", _object_lines(explanations, Screen(WIDTH_WITHOUT_TERMINAL))),
    )


def _object_lines(explanations: Sequence[Explanation], screen: Screen) -> Iterator[str]:
    """Yield lines for every object. Of consecutive equal labels, only the first is shown."""
    for index, explanation in enumerate(explanations):
        if index:
            yield ""
        yield screen.paint(f"{escaped(explanation.path)}:", "bold")
        previous = ""
        for label, text in _explanation_lines(explanation):
            head = f"{'' if label == previous else label:{_LABEL_WIDTH}}"
            yield f"  {screen.paint(head, 'bold')}{escaped(text)}"
            previous = label


def _explanation_lines(explanation: Explanation) -> Iterator[tuple[str, str]]:
    yield from ((label, answer.text) for label, answer in explanation.answers.items())
    yield from (("try", f"{advice.what}: {advice.command}") for advice in explanation.advice)
    yield "build id", explanation.build_id or "none"
    yield from (("sections", f"{file.file}: {', '.join(file.sections) or 'none'}") for file in explanation.files)
    yield from (("looked at", f"{searched.path}: {searched.result}") for searched in explanation.looked_at)
    yield from (("not taken", text) for text in explanation.troubles)
