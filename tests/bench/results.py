"""Figures of the benchmark's last run, and what moved since: a file of JSON, by input and command."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

Figures = Mapping[str, Mapping[str, float]]
"""Figures by name, of each input and command."""
NOISE = {"wall/perf": 0.1, "cpu/perf": 0.1, "cpu s": 0.1, "MiB": 0.05, "peak MiB": 0.02, "calls": 0.02}
"""By so much of itself a figure must differ to have moved. Seconds depend on the machine and what else it does, ratios
less, counts hardly."""
BETTER_THAN_SECONDS = "cpu/perf"
"""Seconds are not compared where this is known."""


def load_results(path: Path) -> dict[str, dict[str, float]]:
    """Return the figures of the last run, none where there was none or its file cannot be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def save_results(path: Path, figures: Figures) -> None:
    """Keep figures for the next run; those of inputs and commands that did not run now stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(load_results(path) | dict(figures), indent=1, sort_keys=True) + "\n")


def moved(before: Figures, now: Figures) -> Iterator[str]:
    """Yield a line for each figure that is not what it was, the largest change first."""
    changes: list[tuple[float, str]] = []
    for name, figures in now.items():
        for kind, noise in NOISE.items():
            old, new = before.get(name, {}).get(kind), figures.get(kind)
            if old is None or new is None or (kind == "cpu s" and BETTER_THAN_SECONDS in figures):
                continue
            change = (new - old) / old if old else float(new != old)
            if abs(change) > noise:
                changes.append((change, f"{name:<28}{kind:<12}{old:>12.6g} → {new:<12.6g}{change:+.0%}"))
    yield from (line for _, line in sorted(changes, key=lambda found: (-abs(found[0]), found[1])))
