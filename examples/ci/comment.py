"""Write one comment on the pull request or merge request of this job, and update it after the next push.

::

    python3 comment.py FOLDER RECORDING [OPTIONS of perf2x report: --before, --fail-above …]

``action.yml`` and ``gitlab.yml`` call it; it needs nothing but Python. FOLDER has ``report.md``, and ``diff.html`` if
there was a comparison; TOKEN and everything else come from the environment. A comment that cannot be written is a
notice, never a failed job.
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

ROWS, LINES, BAR = 3, 2, 8
"""Functions in the table, source lines of each, squares in the longest bar."""
REASONS = 20_000
"""Characters of the verdict; GitHub accepts 65,536 in a comment."""
PER_PAGE = 100
"""Comments in an answer; neither service gives more."""


@dataclass
class Place:
    """Where the comment goes, and what it links to."""

    identity: str
    """Of the comment among those of other jobs."""
    about: str
    """What was recorded, in Markdown."""
    run: str
    files: Sequence[tuple[str, str]]
    """Names and addresses of pages that people look at."""
    command: Sequence[str]
    """Shell commands that show the profile on the reader's machine."""
    sources: str
    """Address of the sources at the recorded commit."""
    checkout: Path
    comments: str
    """Address of the list of comments."""
    one: str
    """Address of a comment, without its number."""
    method: str
    """What updates one."""
    headers: Mapping[str, str]

    @property
    def marker(self) -> str:
        """The first line of the comment, which readers do not see."""
        return f"<!-- perf2x {self.identity} -->"


def github(env: Mapping[str, str], token: str, page: str) -> Place:
    """A pull request on GitHub."""
    web = f"{env['GITHUB_SERVER_URL']}/{env['GITHUB_REPOSITORY']}"
    issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
    run, name = f"{web}/actions/runs/{env['GITHUB_RUN_ID']}", env["NAME"]
    matrix = json.loads(env["MATRIX"]) or {}
    values = "".join(f", {code(str(value))}" for value in matrix.values())
    drawn = env["PAGE"] * (page == "diff")
    files = (("the difference, drawn", drawn), ("all pages and profiles", env["ARTIFACT"]), ("job summary", run))
    words = ("gh", "run", "download", env["GITHUB_RUN_ID"], "--repo", env["GITHUB_REPOSITORY"])
    return Place(
        env["MARK"],
        f"{code(name)} of job {code(env['GITHUB_JOB'])}{values} at {code(env['COMMIT'][:7])}",
        run,
        files,
        [
            shlex.join([*words, "--name", name, "--dir", "perf2x-pages"]) + f"  # {page}.html opens in any browser",
            f"go tool pprof -http=: perf2x-pages/{page}.pb.gz",
        ],
        f"{web}/blob/{env['GITHUB_SHA']}",
        Path(env["GITHUB_WORKSPACE"]),
        f"{issues}/{int(env['PULL_REQUEST'])}/comments",
        f"{issues}/comments",
        "PATCH",
        {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )


def gitlab(env: Mapping[str, str], token: str, page: str) -> Place:
    """A merge request on GitLab, of which the target's project has the notes."""
    project = f"{env['CI_API_V4_URL']}/projects/{env['CI_MERGE_REQUEST_PROJECT_ID']}"
    notes = f"{project}/merge_requests/{int(env['CI_MERGE_REQUEST_IID'])}/notes"
    folder = Path(sys.argv[1]).name
    artifact = f"projects/{env['CI_PROJECT_ID']}/jobs/{env['CI_JOB_ID']}/artifacts/{folder}/{page}.html"
    return Place(
        hashlib.sha256(env["CI_JOB_NAME"].encode()).hexdigest()[:16],
        f"Job {code(env['CI_JOB_NAME'])} at {code(env['CI_COMMIT_SHA'][:7])}",
        env["CI_JOB_URL"],
        [("all pages and profiles", f"{env['CI_JOB_URL']}/artifacts/browse/{folder}"), ("job", env["CI_JOB_URL"])],
        [shlex.join(["glab", "api", artifact]) + f" > {page}.html  # opens in any browser"],
        f"{env['CI_PROJECT_URL']}/-/blob/{env['CI_COMMIT_SHA']}",
        Path(env["CI_PROJECT_DIR"]),
        notes,
        notes,
        "PUT",
        {"PRIVATE-TOKEN": token},
    )


def code(name: str) -> str:
    """A recorded name in Markdown, also inside a table: without mentions, links, HTML, and what moves the text."""
    name = "".join("\ufffd" if unicodedata.category(one)[0] in "CZ" and one != " " else one for one in name)
    name = name if len(name) <= 80 else f"{name[:48]}…{name[-31:]}"
    if not name.strip():
        return "–"
    if any(one in name for one in "`\\|"):
        return f"<code>{''.join(one if one.isalnum() else f'&#{ord(one)};' for one in name)}</code>"
    return f"`{name}`"


def verdict(path: Path) -> tuple[str, list[str]]:
    """The outcome, and the lines that the job summary begins with; "" and none if the job has no limits."""
    head, *lines = path.read_text(encoding="utf-8").partition("\n### perf2x report: ")[0].rstrip().split("\n")
    if not head.startswith("### perf2x: "):
        return "", []
    room, kept = REASONS, list[str]()
    for line in lines:
        room -= len(line)
        kept += [line] * (room >= 0)
    more = [f"- … and {len(lines) - len(kept)} more in the job summary"] * (len(kept) < len(lines))
    return head.removeprefix("### perf2x: "), [head, *kept, *more]


def asked(*words: str) -> Any:
    """The JSON that perf2x prints; None if it says nothing."""
    ran = subprocess.run(["perf2x", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(ran.stdout) if ran.stdout.strip() else None


def table(report: Mapping[str, Any], recording: str, place: Place) -> Iterator[str]:
    """The functions that changed most, in lines of Markdown: their callers, their lines, and bars."""
    found = report["difference"]
    rows = [row for row in found["rows"] if row["significant"]["self"]][:ROWS]
    if not rows:
        yield "No function changed by more than sampling noise explains."
        return
    callers = {(row["name"], row["object"]): row for which in ("by_total", "by_self") for row in report[which]["rows"]}
    lacking = any(one["about"] in ("cut_stacks", "missing_callers") for one in report["next"])
    sides = [("**total**", "", (found["before"], found["after"]), "")]
    for row in rows:
        key = row["name"], row["object"]
        of = f" in {code(row['object'])}" if row["object"] else ""
        lines = costly_lines(key, recording, place)
        sides.append((code(row["name"]) + of, "" if lacking else called_by(callers.get(key)), row["self"], lines))
    largest = max(abs(after - before) for _, _, (before, after), _ in sides)
    yield "| function, by itself | called by | before | after | of the total | | lines |"
    yield "| :-- | :-- | --: | --: | --: | :-- | :-- |"
    for name, by, (before, after), lines in sides:
        change = f"{100 * (after - before) / found['before']:+.1f} %" if found["before"] else "new"
        bar = ("🟥" if after > before else "🟦") * max(round(BAR * abs(after - before) / largest), after != before)
        amounts = [amount(value, found["unit"], found["before"]) for value in (before, after)]
        yield f"| {' | '.join([name, by, *amounts, change, bar, lines])} |"
    more = found["moved_significantly"] - len(rows)
    yield ""
    notes = [f"changed by more than noise, too: {more:,} more"] * (more > 0)
    notes += ["callers are missing in many stacks, so none is named"] * lacking
    yield "; ".join(["🟥 grew, 🟦 shrank", *notes])


def amount(value: float, unit: str, whole: float) -> str:
    """A cost; times in seconds if the total has some."""
    if unit != "nanoseconds":
        return f"{value:,.0f}"
    return f"{value / 1e9:,.2f} s" if whole >= 1e9 else f"{value / 1e6:,.2f} ms"


def called_by(row: Mapping[str, Any] | None) -> str:
    """The main callers of a function, if the report has them, with shares of the function's total."""
    shares = [(one["name"], one["value"] / row["total"]) for one in row["callers"][:2]] if row and row["total"] else []
    return ", ".join(f"{code(name)} {share:.0%}" for name, share in shares if name)


def costly_lines(key: tuple[str, str], recording: str, place: Place) -> str:
    """The lines of a function that cost most, with shares of its own cost, and links to those of this repository."""
    listed = asked("annotate", "--json", "--quiet", "--", key[0], recording) or {"functions": ()}
    found = [
        (line["self"] / function["self"], source["path"], line["line"])
        for function in listed["functions"]
        if (function["name"], function["object"]) == key and function["self"]
        for source in function["sources"]
        for line in source["lines"]
        if line["line"] and line["self"]
    ]
    found.sort(key=lambda line: (-line[0], *line[1:]))
    return ", ".join(f"{linked(path, line, place)} {share:.0%}" for share, path, line in found[:LINES])


def linked(path: str, line: int, place: Place) -> str:
    """A source line, with a link if the file is one of the commit's."""
    shown, checkout = code(f"{Path(path).name}:{line}"), place.checkout.resolve()
    here = Path(os.path.normpath(checkout / path))
    if not here.is_relative_to(checkout) or not here.is_file():
        return shown
    inside = str(here.relative_to(checkout))
    git = ("git", "-C", str(checkout), "-c", f"safe.directory={checkout}", "-c", "core.fsmonitor=false")
    known = subprocess.run(
        [*git, "ls-files", "--error-unmatch", "--", inside],
        env={**os.environ, "GIT_LITERAL_PATHSPECS": "1"},
        capture_output=True,
        check=False,
    )
    return shown if known.returncode else f"[{shown}]({place.sources}/{quote(inside)}#L{line})"


def written(place: Place, lines: Sequence[str], changes: Sequence[str], *, has_page: bool) -> str:
    """The comment; without commands if the recording could not be read."""
    files = " · ".join(f"[{text}]({address})" for text, address in place.files if address)
    command = ["```sh", *place.command, "```"] if has_page else []
    about = f"<sub>{place.about}; the next push updates this comment.</sub>"
    paragraphs = [[place.marker, *(lines or ["### perf2x"])], changes, [files], command, [about]]
    return "\n\n".join("\n".join(one) for one in paragraphs if one) + "\n"


def called(method: str, url: str, place: Place, body: Any = None) -> Any:
    """The service's answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {**place.headers, "Content-Type": "application/json", "User-Agent": "perf2x"}
    with urlopen(Request(url, data, headers, method=method), timeout=30) as answer:
        return json.load(answer)


def own_name(env: Mapping[str, str], place: Place) -> str:
    """The name that comments of this token have; GitHub answers an app's token by GraphQL alone."""
    if "GITLAB_CI" in env:
        return str(called("GET", f"{env['CI_API_V4_URL']}/user", place)["username"])
    answer = called("POST", env["GITHUB_GRAPHQL_URL"], place, {"query": "{viewer{login}}"})
    return str(((answer.get("data") or {}).get("viewer") or {}).get("login") or "github-actions[bot]")


def send(place: Place, name: str, body: str) -> None:
    """Update this job's comment, or write the first one; others' comments are never touched, whatever they say."""
    for page in count(1):
        found = called("GET", f"{place.comments}?per_page={PER_PAGE}&page={page}", place)
        for comment in found:
            author = comment.get("user") or comment.get("author") or {}
            is_own = name in (author.get("login"), author.get("username"))
            if is_own and (comment["body"] or "").startswith(place.marker):
                called(place.method, f"{place.one}/{comment['id']}", place, {"body": body})
                return
        if len(found) < PER_PAGE:
            break
    called("POST", place.comments, place, {"body": body})


def main() -> None:
    """Write the comment, or say why there is none."""
    folder, recording, words = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    token, env = os.environ.pop("TOKEN"), dict(os.environ)
    on_gitlab = "GITLAB_CI" in env
    outcome, lines = verdict(folder / "report.md")
    compared = "--before" in words and outcome in ("passed", "failed", "")
    page = "diff" if compared and (folder / "diff.html").exists() else "profile"
    place = (gitlab if on_gitlab else github)(env, token, page)
    report = asked("report", "-q", "-n", "30", "--format", "json", *words, "--", recording) if compared else None
    changes = [*table(report, recording, place)] if report else []
    try:
        send(place, own_name(env, place), written(place, lines, changes, has_page=(folder / f"{page}.html").exists()))
        return
    except HTTPError as error:
        refused = error.code in (401, 403, 404)
        needed = "role Reporter, scope api" if on_gitlab else "permissions: pull-requests: write"
        why = f"the token may not write one ({needed})" if refused else f"the service answered {error.code}"
    except (URLError, TimeoutError, OSError, ValueError) as error:
        why = " ".join(str(error).split())
    print(f"{'perf2x: ' if on_gitlab else '::notice title=perf2x::'}no comment: {why}")


if __name__ == "__main__":
    main()
