"""Pages of parts of a fleet: the flame graph of one, or of two compared, below a header to choose them by."""

import html
import io
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from perf2x.base.errors import OptionError, Perf2xError
from perf2x.emitters.flame.diff_page import DifferencePage
from perf2x.emitters.flame.html import Html
from perf2x.fleet.slice_profile import slice_profile

KEYS = ("service", "version", "host", "day")
_ROWS = """SELECT number, coalesce(tags['service'], ''), coalesce(tags['version'], ''), host,
    CASE WHEN start_ns > 0 THEN strftime(make_timestamp_ns(start_ns), '%Y-%m-%d') ELSE '' END
FROM homes JOIN recordings USING (recording) ORDER BY number"""
_COSTS = """CREATE TEMP TABLE costs AS
SELECT number, event, function, sum(self * weight) AS self, sum(self_samples) AS samples
FROM by_function JOIN homes USING (recording) GROUP BY ALL"""
_EVENTS = "SELECT event FROM costs GROUP BY 1 ORDER BY sum(samples) DESC, 1"
_TOP = "SELECT function FROM costs WHERE event = $event AND {among} GROUP BY 1 ORDER BY sum(self) DESC, 1 LIMIT 30"
_SHARES = """SELECT number, coalesce(sum(self) FILTER (function = $function), 0), sum(self) FROM costs
WHERE event = $event AND {among} GROUP BY number"""
_COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#475569")
_BODY, _WIDE, _HIGH = b"<body>", 640, 90
_STYLE = (
    "<style>#fleet{display:flex;flex-wrap:wrap;gap:4px 12px;padding:6px 12px;align-items:center;margin:0}"
    "#fleet select{max-width:16em}#trend{padding:0 12px 4px}#trend svg{display:block;max-width:100%}</style>"
)


class FleetPages:
    """Pages of the parts of a dataset, by questions: ``service=web&before.version=1&function=main``."""

    def __init__(self, connection: Any, name: str) -> None:
        """Count once what functions cost; ``connection`` is an ``engine`` that was asked for ``by_function``."""
        self._connection, self._name, self._lock = connection, name, threading.Lock()
        connection.execute(_COSTS)
        self._rows = connection.execute(_ROWS).fetchall()
        self._events = [event for (event,) in connection.execute(_EVENTS).fetchall()]

    def answer(self, query: str) -> bytes:
        """Return the page for a browser; one that says why where there is none."""
        try:
            return self.page(dict(parse_qsl(query)))
        except Perf2xError as error:
            form = self._form(dict(parse_qsl(query)), "", [])
            return f"<!doctype html><meta charset=utf-8>{_STYLE}<body>{form}<p>{html.escape(str(error))}".encode()

    def page(self, asked: Mapping[str, str], *, alone: bool = False) -> bytes:
        """Return the page of a part; ``alone``: to be kept, without choices. OptionError where it has no samples."""
        if not self._events:
            raise OptionError(f"{self._name}: no samples")
        event = asked.get("event") or self._events[0]
        part = {key: asked[key] for key in KEYS if asked.get(key)}
        other = {key: asked[f"before.{key}"] for key in KEYS if asked.get(f"before.{key}")}
        out = io.BytesIO()
        with self._lock:
            after = self._profile(part, event)
            if other:
                DifferencePage(title=self._title(part), normalize=True).emit(
                    self._profile(part | other, event), after, out
                )
            else:
                Html(title=self._title(part)).emit(after, out)
            among = _among(self._numbers({key: value for key, value in part.items() if key not in ("day", "version")}))
            top = [name for (name,) in self._ask(_TOP.format(among=among), event=event)]
            function = asked.get("function") or top[0]
            shares = self._ask(_SHARES.format(among=among), event=event, function=function)
        head = self._words(part, other) if alone else self._form(asked, event, top)
        trend = _plot(function, self._by_day(shares))
        return out.getvalue().replace(_BODY, _BODY + f"{_STYLE}{head}{trend}".encode(), 1)

    def _ask(self, sql: str, **values: str) -> list[Any]:
        found: list[Any] = self._connection.execute(sql, values).fetchall()
        return found

    def _numbers(self, part: Mapping[str, str]) -> list[int]:
        wanted = [(KEYS.index(key) + 1, value) for key, value in part.items()]
        return [row[0] for row in self._rows if all(row[at] == value for at, value in wanted)]

    def _profile(self, part: Mapping[str, str], event: str) -> Any:
        return slice_profile(self._connection, self._numbers(part), event, self._title(part))

    def _title(self, part: Mapping[str, str]) -> str:
        return ", ".join([self._name, *(f"{key} {value}" for key, value in part.items())])

    def _words(self, part: Mapping[str, str], other: Mapping[str, str]) -> str:
        compared = f", compared with {self._title({**part, **other})}" if other else ""
        return f"<p id=fleet>{html.escape(self._title(part) + compared)}</p>"

    def _form(self, asked: Mapping[str, str], event: str, top: Sequence[str]) -> str:
        values = {key: sorted({row[at] for row in self._rows} - {""}) for at, key in enumerate(KEYS, 1)}
        parts = [_select(key, key, values[key], asked.get(key, ""), "all") for key in KEYS]
        parts.append(_select("event", "event", self._events, event, ""))
        parts.append("<b>compared with</b>")
        parts += [_select(f"before.{key}", key, values[key], asked.get(f"before.{key}", ""), "same") for key in KEYS]
        parts.append(_select("function", "trend of", top, asked.get("function", ""), "hottest"))
        return f'<form id=fleet aria-label="Part of the fleet">{"".join(parts)}<button>Show</button></form>'

    def _by_day(self, shares: Sequence[tuple[int, float, float]]) -> dict[str, dict[str, float]]:
        """Shares by version, then day."""
        sums: dict[tuple[str, str], list[float]] = {}
        facts = {row[0]: row for row in self._rows}
        for number, own, whole in shares:
            total = sums.setdefault((facts[number][2], facts[number][4]), [0.0, 0.0])
            total[0] += own
            total[1] += whole
        found: dict[str, dict[str, float]] = {}
        for (version, day), (own, whole) in sorted(sums.items()):
            found.setdefault(version, {})[day] = own / whole if whole else 0.0
        return found


def _among(numbers: Sequence[int]) -> str:
    return f"number IN ({', '.join(map(str, numbers)) or -1})"


def _select(name: str, label: str, values: Sequence[str], chosen: str, other: str) -> str:
    options = [f"<option value=''>{other}</option>"] if other else []
    options += [
        f"<option{' selected' * (value == chosen)}>{html.escape(value)}</option>"
        for value in dict.fromkeys([*values, *([chosen] if chosen else [])])
    ]
    return (
        f"<label>{label} <select name='{name}' onchange='this.form.requestSubmit()'>{''.join(options)}</select></label>"
    )


def _plot(function: str, shares: Mapping[str, Mapping[str, float]]) -> str:
    """A function's share by day, a line for each version."""
    days = sorted({day for line in shares.values() for day in line})
    most = max((share for line in shares.values() for share in line.values()), default=0) or 1
    place = {day: 60 + number * (_WIDE - 160) / max(len(days) - 1, 1) for number, day in enumerate(days)}
    drawn = []
    for (version, line), colour in zip(shares.items(), _COLOURS * (1 + len(shares) // len(_COLOURS)), strict=False):
        points = [(place[day], _HIGH - 15 - share / most * (_HIGH - 30)) for day, share in line.items()]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        drawn.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5'/>")
        for (x, y), (day, share) in zip(points, line.items(), strict=True):
            said = html.escape(f"{day} {version}: {share:.1%}")
            drawn.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'><title>{said}</title></circle>")
        x, y = points[-1]
        drawn.append(f"<text x='{x + 8:.1f}' y='{y + 4:.1f}' fill='{colour}'>{html.escape(version or 'all')}</text>")
    drawn.append(f"<text x='2' y='18'>{most:.1%}</text><text x='2' y='{_HIGH - 12}'>0 %</text>")
    drawn += [
        f"<text x='{place[day] - 30:.0f}' y='{_HIGH}'>{html.escape(day or 'no date')}</text>"
        for day in dict.fromkeys([*days[:1], *days[-1:]])
    ]
    named = html.escape(f"Share of {function} by day and version")
    return (
        f"<details id=trend open><summary>{named}</summary><svg role=img aria-label='{named}' "
        f"width={_WIDE} height={_HIGH} viewBox='0 0 {_WIDE} {_HIGH}' font-size=11 fill=currentColor>"
        f"{''.join(drawn)}</svg></details>"
    )
