"""Stand-ins for the parts of GitHub's and GitLab's APIs that write comments, behind HTTP on this machine."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

LONGEST = 65_536
"""Characters of a comment on GitHub."""


@dataclass
class Comments:
    """Comments on pull request 7 of them/theirs, or on merge request 7 of project 3; both have the same."""

    url: str = ""
    writers: dict[str, str] = field(default_factory=lambda: {"secret": "github-actions[bot]", "glpat": "project_3_bot"})
    """Names of those who may write, by token."""
    held: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    """Methods and paths of all requests, oldest first."""
    status: int = 0
    """The status of every response; 0 for a service that works."""

    @property
    def env(self) -> dict[str, str]:
        """Environment variables of both services' runners."""
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_GRAPHQL_URL": f"{self.url}/graphql",
            "CI_API_V4_URL": f"{self.url}/api/v4",
            "no_proxy": "127.0.0.1",
        }

    @property
    def bodies(self) -> list[str]:
        """Texts of the comments."""
        return [one["body"] for one in self.held]

    def add(self, login: str, body: str) -> dict[str, Any]:
        """A comment of somebody's."""
        author = {"login": login, "username": login}
        self.held.append({"id": 100 + len(self.held), "body": body, "user": author, "author": author})
        return self.held[-1]

    def answer(self, method: str, url: str, headers: Message, body: Any) -> tuple[int, Any]:
        """The service's response; a token that may not write still reads."""
        parts, scheme = urlsplit(url), headers.get("Authorization", "")
        self.calls.append(f"{method} {url}")
        token = scheme.removeprefix("Bearer ") if scheme else headers.get("PRIVATE-TOKEN", "")
        name = self.writers.get(token, "")
        if self.status or not token:
            return self.status or 401, {"message": "Bad credentials"}
        if parts.path == "/graphql":
            return 200, {"data": {"viewer": {"login": name or "github-actions[bot]"}}}
        if parts.path == "/api/v4/user":
            return 200, {"username": name}
        rest = parts.path.removeprefix("/repos/them/theirs/issues").removeprefix("/api/v4/projects/3/merge_requests")
        if method == "GET":
            asked = parse_qs(parts.query)
            rows = min(int(asked["per_page"][0]), 100)
            return 200, self.held[(int(asked["page"][0]) - 1) * rows :][:rows]
        if not name:
            return 403, {"message": "Resource not accessible by integration"}
        if len(body["body"]) > LONGEST:
            return 422, {"message": "Body is too long"}
        if method == "POST" and rest in ("/7/comments", "/7/notes"):
            return 201, self.add(name, body["body"])
        if found := re.fullmatch({"PATCH": r"/comments/(\d+)", "PUT": r"/7/notes/(\d+)"}[method], rest):
            (comment,) = [one for one in self.held if one["id"] == int(found[1])]
            comment["body"] = body["body"]
            return 200, comment
        return 404, {"message": "Not Found"}


@contextmanager
def served() -> Iterator[Comments]:
    """A service without comments."""
    comments = Comments()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = comments.answer(self.command, self.path, self.headers, json.loads(text or "null"))
            said = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815  the base class's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    comments.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield comments
    finally:
        server.shutdown()
        server.server_close()
