"""Stand-ins for GitHub's and GitLab's runners: every run begins in an empty folder, caches and artifacts persist.

Only what the examples use: shell steps, conditions, ids and outputs, a composite action, caches that cannot be
overwritten (GitHub) or are replaced at the end (GitLab), artifacts.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Tree = Mapping[str, Any]


def shell(script: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as both services do."""
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=folder, env=dict(env), capture_output=True, text=True, check=False)


@dataclass
class Run:
    """Outcome of one run."""

    code: int = 0
    """Of the first step that failed."""
    said: str = ""
    artifacts: dict[str, set[str]] = field(default_factory=dict)
    summary: str = ""
    done: list[str] = field(default_factory=list)
    """Names of the steps that ran."""


def evaluated(text: str, contexts: Tree, states: Mapping[str, bool]) -> Any:
    """An expression of GitHub's; unknown properties are empty."""

    def value(name: str) -> Any:
        found: Any = contexts
        for part in name.split("."):
            found = found.get(part, "") if isinstance(found, Mapping) else ""
        return found

    def translated(token: re.Match[str]) -> str:
        word = token[0]
        if word[0] == "'":
            return repr(word[1:-1])
        if word.endswith("()"):
            return repr(states[word[:-2]])
        return {"&&": " and ", "||": " or ", "!": " not ", "==": "==", "!=": "!="}.get(word) or f"value({word!r})"

    python = re.sub(r"'[^']*'|\w+\(\)|[\w-]+(?:\.[\w-]+)*|&&|\|\||==|!=|!", translated, text)
    return eval(python, {"value": value})  # the repository's own expressions


@dataclass
class GitHub:
    """A repository's caches, and runs of its workflow."""

    folder: Path
    env: Mapping[str, str]
    caches: list[tuple[str, str, Path]] = field(default_factory=list)
    """(key, path, contents), oldest first; a cache is known by its path, too."""

    def push(self, workflow: Path, sha: str, before: str) -> Run:
        """A push to the main branch."""
        event = {"before": before, "repository": {"default_branch": "main"}}
        return self._run(workflow, {"sha": sha, "ref": "refs/heads/main", "ref_name": "main", "event": event})

    def pull_request(self, workflow: Path, sha: str, base: str) -> Run:
        """A pull request to the main branch."""
        event = {"pull_request": {"base": {"sha": base}}, "repository": {"default_branch": "main"}}
        return self._run(workflow, {"sha": sha, "ref": "refs/pull/7/merge", "ref_name": "7/merge", "event": event})

    def _run(self, workflow: Path, github: Tree) -> Run:
        number = len(list(self.folder.iterdir()))
        work = self.folder / f"run{number}"
        temporary = self.folder / f"run{number}.temporary"
        for made in (work, temporary):
            made.mkdir(parents=True)
        (temporary / "path").touch()
        (temporary / "summary").touch()
        run = Run()
        (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
        _Job(self, work, temporary, run).steps(job["steps"], {"github": github})
        run.summary = (temporary / "summary").read_text()
        return run


@dataclass
class _Job:
    """The steps of one run."""

    service: GitHub
    work: Path
    temporary: Path
    run: Run

    def steps(self, steps: Sequence[Tree], contexts: dict[str, Any]) -> None:
        contexts = {**contexts, "steps": {}}
        for step in steps:
            states = {"always": True, "cancelled": False, "success": not self.run.code, "failure": bool(self.run.code)}
            condition = str(step.get("if", "success()")).removeprefix("${{").removesuffix("}}")
            if not any(f"{state}()" in condition for state in states):
                condition = f"success() && ({condition})"
            if not evaluated(condition, contexts, states):
                continue
            filled = self._filled(step, contexts, states)
            self.run.done.append(filled.get("name") or filled["uses"])
            outputs: dict[str, str] = {}
            code = self._shell(filled) if "run" in filled else self._used(filled, contexts, outputs)
            self.run.code = self.run.code or code
            if "id" in step:
                contexts["steps"][step["id"]] = {"outputs": outputs, "outcome": "failure" if code else "success"}

    def _filled(self, value: Any, contexts: Tree, states: Mapping[str, bool]) -> Any:
        """The step with every ``${{ … }}`` replaced."""
        if isinstance(value, Mapping):
            return {key: self._filled(one, contexts, states) for key, one in value.items() if key != "if"}
        text: Callable[[re.Match[str]], str] = lambda found: str(evaluated(found[1], contexts, states))  # noqa: E731
        return re.sub(r"\$\{\{(.*?)\}\}", text, value) if isinstance(value, str) else value

    def _shell(self, step: Tree) -> int:
        added = [line for line in (self.temporary / "path").read_text().splitlines() if line]
        env = {
            **self.service.env, **step.get("env", {}), "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(self.temporary),
            "GITHUB_PATH": str(self.temporary / "path"), "GITHUB_STEP_SUMMARY": str(self.temporary / "summary"),
        }  # fmt: skip
        env["PATH"] = os.pathsep.join([*added, env["PATH"]])
        ran = shell(step["run"], self.work, env)
        self.run.said += ran.stdout + ran.stderr
        return ran.returncode

    def _used(self, step: Tree, contexts: Tree, outputs: dict[str, str]) -> int:
        action, _, _ = step["uses"].partition("@")
        given = step.get("with", {})
        if action == "actions/cache/restore":
            self._restore(given, outputs)
        elif action == "actions/cache/save":
            self._save(given["key"], given["path"])
        elif action == "actions/upload-artifact":
            names = given["path"].split()
            self.run.artifacts[given["name"]] = {name for name in names if (self.work / name).exists()}
        elif action == "perf2x/perf2x":
            self._composite(given, contexts)
        elif action not in ("actions/checkout", "actions/setup-python"):
            raise AssertionError(f"no stand-in for {action}")
        return 0

    def _composite(self, given: Tree, contexts: Tree) -> None:
        stated = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())
        assert set(given) <= set(stated["inputs"])
        inputs = {name: str(given.get(name, one["default"])) for name, one in stated["inputs"].items()}
        self.steps(stated["runs"]["steps"], {**contexts, "inputs": inputs})

    def _restore(self, given: Tree, outputs: dict[str, str]) -> None:
        held = [cache for cache in self.service.caches if cache[1] == given["path"]]
        exact = [cache for cache in held if cache[0] == given["key"]]
        alike = [cache for cache in held if cache[0].startswith(given["restore-keys"])]
        for key, path, contents in (exact or alike)[-1:]:
            shutil.copytree(contents, self.work / path, dirs_exist_ok=True)
            outputs |= {"cache-matched-key": key, "cache-hit": str(bool(exact)).lower()}

    def _save(self, key: str, path: str) -> None:
        if any((key, path) == cache[:2] for cache in self.service.caches):
            return  # caches are never overwritten
        contents = self.temporary / "cache"
        shutil.copytree(self.work / path, contents)
        self.service.caches.append((key, path, contents))


@dataclass
class GitLab:
    """A project's one cache, and runs of its one job."""

    folder: Path
    env: Mapping[str, str]

    def push(self, workflow: Path, _sha: str, _before: str) -> Run:
        """A push to the default branch."""
        return self._run(workflow, 1)

    def pull_request(self, workflow: Path, _sha: str, _base: str) -> Run:
        """A merge request."""
        return self._run(workflow, 0)

    def _run(self, workflow: Path, rule: int) -> Run:
        """``rule``: which of the job's rules this is."""
        (job,) = yaml.safe_load(workflow.read_text()).values()
        variables = {**job["variables"], **job["rules"][rule]["variables"]}
        policy = re.sub(r"\$(\w+)", lambda name: variables[name[1]], job["cache"]["policy"])
        work, cache = self.folder / f"run{len(list(self.folder.iterdir()))}", self.folder / "cache"
        work.mkdir(parents=True)
        paths = job["cache"]["paths"]
        for path in paths if "pull" in policy else ():
            if (cache / path).exists():
                shutil.copytree(cache / path, work / path)
        script = "\n".join([*job["before_script"], *job["script"]])
        ran = shell(script, work, {**self.env, **variables, "GITLAB_CI": "true"})
        for path in paths if "push" in policy and (ran.returncode == 0 or job["cache"]["when"] == "always") else ():
            shutil.rmtree(cache / path, ignore_errors=True)
            shutil.copytree(work / path, cache / path)
        kept = {name for name in job["artifacts"]["paths"] if (work / name).exists()}
        return Run(ran.returncode, ran.stdout + ran.stderr, {job["artifacts"]["expose_as"]: kept}, ran.stdout)
