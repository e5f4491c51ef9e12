"""An environment that says nothing about the machine: the same tests pass and fail everywhere."""

import os
from pathlib import Path

import pytest

STEERING = ("PERF2X_SHARED", "PERF2X_WRITE_GOLDEN", "PERF2X_BROWSER_MODULES")
"""They steer the tests themselves."""
_SPEAKING = ("PERF2X_", "_PERF2X_", "DEBUGINFOD_", "OTEL_", "XDG_", "GITHUB_", "GITLAB_", "CLICOLOR")
_WORDS = (
    *("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PAGER", "BROWSER", "PERF_BUILDID_DIR"),
    *("LOCALAPPDATA", "APPDATA"),
)


def isolated(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Make a home directory in ``root``, and let searches for files of this machine end there.

    Paths below ``root``, where tests keep their files, are found as they are. A test about the machine itself takes
    PERF2X_SYSROOT away again.
    """
    for name in os.environ:
        if (name.startswith(_SPEAKING) or name in _WORDS) and name not in STEERING:
            patch.delenv(name)
    at_home(patch, root / "home")
    patch.setenv("PERF2X_SYSROOT", str(root))


def at_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Make ``home`` the home directory; a folder that is made when something is put there."""
    patch.setenv("HOME", str(home))
    patch.setenv("USERPROFILE", str(home))
