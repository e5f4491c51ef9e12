"""Stand-ins for GitHub's and GitLab's runners: every run begins in an empty folder, caches and artifacts persist.

Only what the examples use: shell steps, conditions, ids and outputs, a composite action, caches that cannot be
overwritten (GitHub) or are replaced at the end (GitLab), artifacts.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

Tree = Mapping[str, Any]
ROOT = Path(__file__).parents[2]


def shell(script: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as both services do."""
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=folder, env=dict(env), capture_output=True, text=True, check=False)


BENIGN = "#!/bin/sh\nexit 0\n"
PYTHON = f"""#!/bin/sh
case $1 in -c|*.py) exec {sys.executable} "$@";; esac
[ "$2" = venv ] || exit 0
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "installed with $*"\\n' > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""


class Program:
    """The recording that the next run of perf copies, and a PATH with stand-ins for what runners have.

    ``runs`` is the folder for a service; ``perf2x`` is the text of a script.
    """

    def __init__(self, folder: Path, perf2x: str) -> None:
        if shutil.which("bash") is None:
            pytest.skip("no bash here")
        self._recording, tools, self.runs = folder / "recording", folder / "tools", folder / "runs"
        tools.mkdir()
        self.runs.mkdir()
        stubs = {"sudo": BENIGN, "apt-get": BENIGN, "python": PYTHON, "python3": PYTHON, "perf2x": perf2x}
        stubs["perf"] = f'#!/bin/sh\ncp "{self._recording}" perf.data\n'
        for name, text in stubs.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        service = ("PERF2X_", "GITHUB_", "GITLAB_", "RUNNER_", "CI_", "ACTIONS_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(service)}
        self.env = {**clean, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}

    def becomes(self, recording: bytes) -> None:
        """Another version of the program, which costs as much as that recording says."""
        self._recording.write_bytes(recording)


@dataclass
class Run:
    """Outcome of one run."""

    code: int = 0
    """Of the first step that failed."""
    said: str = ""
    artifacts: dict[str, set[str]] = field(default_factory=dict)
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    """Of the last step with outputs."""
    left: set[str] = field(default_factory=set)
    """Files in the workspace afterwards."""


THEIRS = {"bundle/their.txt", "base/their.txt", "profile.html"}
"""Files of the user's in the workspace, with names that steps could use, too."""


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


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

    if found := re.fullmatch(r"\s*toJSON\((\w+)\)\s*", text):
        return json.dumps(value(found[1]), indent=2)
    python = re.sub(r"'[^']*'|\w+\(\)|[\w-]+(?:\.[\w-]+)*|&&|\|\||==|!=|!", translated, text)
    return eval(python, {"value": value})  # the repository's own expressions


@dataclass
class GitHub:
    """A repository's caches, and runs of its workflow."""

    folder: Path
    env: Mapping[str, str]
    caches: list[tuple[str, str, Path]] = field(default_factory=list)
    """(key, path, contents), oldest first; a cache is known by its path, too."""

    image: str = "1"
    """Version of the runner's image."""
    token: str = ""
    """The token of jobs of pull requests; those that write nothing have none, so that they do not try."""
    matrix: Tree | None = None
    """Of the next run."""

    @property
    def baselines(self) -> list[str]:
        """Keys of stored recordings, oldest first."""
        return [key for key, _, _ in self.caches if not key.startswith("perf2x-installed-")]

    def push(self, workflow: Path, sha: str, before: str, branch: str = "main") -> Run:
        """A push to a branch."""
        github = {"event_name": "push", "ref": f"refs/heads/{branch}", "ref_name": branch, "ref_type": "branch"}
        return self._run(workflow, {**github, "sha": sha, "event": {"before": before}})

    def pull_request(self, workflow: Path, sha: str, base: str, branch: str = "main") -> Run:
        """A pull request to a branch; it may not write caches of that, and has no secrets, as from a fork."""
        github = {"event_name": "pull_request", "ref": "refs/pull/7/merge", "ref_name": "7/merge", "ref_type": "branch"}
        event = {"pull_request": {"base": {"sha": base}, "number": 7, "head": {"sha": sha}}}
        return self._run(workflow, {**github, "base_ref": branch, "sha": sha, "event": event})

    def _run(self, workflow: Path, github: Tree) -> Run:
        work, temporary = self.folder / f"run{len(list(self.folder.iterdir()))}", self.folder.parent / "temporary"
        shutil.rmtree(temporary, ignore_errors=True)
        for made in (work, temporary):
            made.mkdir(parents=True)
        for path in THEIRS:
            (work / path).parent.mkdir(exist_ok=True)
            (work / path).write_text("theirs")
        run = Run()
        ((name, job),) = yaml.safe_load(workflow.read_text())["jobs"].items()
        contexts = {
            "github": {**github, "job": name, "action_path": str(ROOT), "token": self.token},
            "runner": {"temp": str(temporary)},
            "matrix": self.matrix,
        }
        _Job(self, work, temporary, run).steps(job["steps"], contexts)
        run.summary = _text(temporary / "summary")
        run.left = {str(path.relative_to(work)) for path in work.rglob("*") if path.is_file()} - {"perf.data"}
        assert not _text(temporary / "path"), "what is on the path of later steps is the user's"
        return run


@dataclass
class _Job:
    """The steps of one run."""

    service: GitHub
    work: Path
    temporary: Path
    run: Run

    def steps(self, steps: Sequence[Tree], contexts: Tree) -> Tree:
        """Run them; return the contexts as the last one left them."""
        contexts = {**contexts, "steps": {}}
        for step in steps:
            states = {"always": True, "cancelled": False, "success": not self.run.code, "failure": bool(self.run.code)}
            condition = str(step.get("if", "success()")).removeprefix("${{").removesuffix("}}")
            if not any(f"{state}()" in condition for state in states):
                condition = f"success() && ({condition})"
            if not evaluated(condition, contexts, states):
                continue
            filled = self._filled(step, contexts, states)
            outputs: dict[str, str] = {}
            code = self._shell(filled, contexts, outputs) if "run" in filled else self._used(filled, contexts, outputs)
            self.run.code, self.run.outputs = self.run.code or code, outputs or self.run.outputs
            if "id" in step:
                contexts["steps"][step["id"]] = {"outputs": outputs, "outcome": "failure" if code else "success"}
        return contexts

    def _filled(self, value: Any, contexts: Tree, states: Mapping[str, bool]) -> Any:
        """The step with every ``${{ … }}`` replaced."""
        if isinstance(value, Mapping):
            return {key: self._filled(one, contexts, states) for key, one in value.items() if key != "if"}
        text: Callable[[re.Match[str]], str] = lambda found: str(evaluated(found[1], contexts, states))  # noqa: E731
        return re.sub(r"\$\{\{(.*?)\}\}", text, value) if isinstance(value, str) else value

    def _shell(self, step: Tree, contexts: Tree, outputs: dict[str, str]) -> int:
        said = self.temporary / "output"
        said.write_text("")
        env = {
            **self.service.env, **step.get("env", {}), "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(self.temporary),
            "GITHUB_PATH": str(self.temporary / "path"), "GITHUB_STEP_SUMMARY": str(self.temporary / "summary"),
            "GITHUB_OUTPUT": str(said), "GITHUB_WORKSPACE": str(self.work), "GITHUB_WORKFLOW": "profile",
            "GITHUB_JOB": contexts["github"]["job"], "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64",
            "ImageOS": "ubuntu24", "ImageVersion": self.service.image, "GITHUB_REPOSITORY": "them/theirs",
            "GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "42", "GITHUB_SHA": contexts["github"]["sha"],
        }  # fmt: skip
        ran = shell(step["run"], self.work, env)
        self.run.said += ran.stdout + ran.stderr
        outputs |= dict(line.split("=", 1) for line in said.read_text().splitlines())
        return ran.returncode

    def _used(self, step: Tree, contexts: Tree, outputs: dict[str, str]) -> int:
        action, _, _ = step["uses"].partition("@")
        given = step.get("with", {})
        if action == "actions/cache/restore":
            self._restore(given, outputs)
        elif action == "actions/cache/save":
            self._save(given["key"], given["path"])
        elif action == "actions/upload-artifact":
            names = [path for path in map(Path, given["path"].splitlines()) if (self.work / path).exists()]
            name = given["name"] if given.get("archive") is not False else names[0].name
            assert names
            if set(name) & set('":<>|*?\r\n\\/'):
                self.run.said += f"The artifact name is not valid: {name}\n"
                return 1
            assert name not in self.run.artifacts, "an artifact is never replaced"
            self.run.artifacts[name] = {path.name for path in names}
            outputs["artifact-url"] = f"https://github.com/them/theirs/actions/runs/42/artifacts/{len(name)}"
        elif action == "./perf2x":
            outputs |= self._composite(given, contexts)
            return self.run.code
        elif action not in ("actions/checkout", "actions/setup-python"):
            raise AssertionError(f"no stand-in for {action}")
        return 0

    def _composite(self, given: Tree, contexts: Tree) -> Tree:
        """Run the action of this repository; return its outputs."""
        stated = yaml.safe_load((ROOT / "action.yml").read_text())
        assert set(given) <= set(stated["inputs"])
        defaults = {name: self._filled(one["default"], contexts, {}) for name, one in stated["inputs"].items()}
        inputs = {name: str(given.get(name, default)) for name, default in defaults.items()}
        left = self.steps(stated["runs"]["steps"], {**contexts, "inputs": inputs})
        return {name: self._filled(one["value"], left, {}) for name, one in stated["outputs"].items()}

    def _restore(self, given: Tree, outputs: dict[str, str]) -> None:
        self._check_key(given["key"])
        held = [cache for cache in self.service.caches if cache[1] == given["path"]]
        exact = [cache for cache in held if cache[0] == given["key"]]
        alike = [cache for cache in held if "restore-keys" in given and cache[0].startswith(given["restore-keys"])]
        for key, path, contents in (exact or alike)[-1:]:
            shutil.copytree(contents, self.work / path, dirs_exist_ok=True)
            outputs |= {"cache-matched-key": key, "cache-hit": str(bool(exact)).lower()}

    def _check_key(self, key: str) -> None:
        """As actions/cache does."""
        assert len(key) <= 512 and "," not in key

    def _save(self, key: str, path: str) -> None:
        self._check_key(key)
        if any((key, path) == cache[:2] for cache in self.service.caches):
            return  # caches are never overwritten
        parent = self.service.folder.parent
        contents = parent / f"cache{len(list(parent.glob('cache*')))}"
        shutil.copytree(self.work / path, contents)
        self.service.caches.append((key, path, contents))


@dataclass
class GitLab:
    """A project's one cache, and runs of its one job."""

    folder: Path
    env: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the project."""

    def push(self, workflow: Path, _sha: str, _before: str) -> Run:
        """A push to the default branch."""
        return self._run(workflow, 1)

    def pull_request(self, workflow: Path, _sha: str, _base: str) -> Run:
        """A merge request."""
        return self._run(workflow, 0, {"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "3"})

    def _run(self, workflow: Path, rule: int, event: Mapping[str, str] | None = None) -> Run:
        """``rule``: which of the job's rules this is."""
        (job,) = yaml.safe_load(workflow.read_text()).values()
        self.folder.mkdir(exist_ok=True)
        work, cache = self.folder / f"run{len(list(self.folder.iterdir()))}", self.folder / "cache"
        variables = {**job["variables"], **job["rules"][rule]["variables"], "CI_JOB_NAME_SLUG": "profile"}
        url = "https://gitlab.com/them/theirs"
        variables |= {"CI_JOB_NAME": "profile", "CI_JOB_ID": "42", "CI_JOB_URL": f"{url}/-/jobs/42"}
        variables |= {"CI_PROJECT_ID": "3", "CI_PROJECT_URL": url, "CI_PROJECT_DIR": str(work)}
        variables |= {"CI_COMMIT_SHA": "c0ffee", **(event or {}), **self.variables}
        policy = re.sub(r"\$(\w+)", lambda name: variables[name[1]], job["cache"]["policy"])
        work.mkdir(parents=True)
        (work / "perf2x").symlink_to(ROOT)
        paths = job["cache"]["paths"]
        for path in paths if "pull" in policy else ():
            if (cache / path).exists():
                shutil.copytree(cache / path, work / path)
        script = "\n".join([*job["before_script"], *job["script"]])
        ran = shell(script, work, {**self.env, **variables, "GITLAB_CI": "true"})
        for path in paths if "push" in policy and (ran.returncode == 0 or job["cache"]["when"] == "always") else ():
            shutil.rmtree(cache / path, ignore_errors=True)
            if (work / path).exists():
                shutil.copytree(work / path, cache / path)
        kept = {Path(name).name for name in job["artifacts"]["paths"] if (work / name).exists()}
        summary = _text(work / "perf-profile" / "report.md")
        assert summary in ran.stdout
        return Run(ran.returncode, ran.stdout + ran.stderr, {job["artifacts"]["expose_as"]: kept}, summary)
