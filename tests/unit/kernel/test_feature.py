"""Features are found by their entry points."""

import pytest

from perf2x.base import installed_packages
from perf2x.errors import OptionError
from perf2x.kernel import feature


def test_an_older_installation_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that was updated under an editable install has entry points that its metadata does not name."""
    monkeypatch.setattr(installed_packages, "entry_points", lambda group: [])
    with pytest.raises(OptionError, match="older than its code; install it again"):
        feature.features.__wrapped__()


def test_names_that_no_feature_has_are_refused() -> None:
    with pytest.raises(TypeError, match="there is no option nosuch"):
        feature.with_settings((), {"nosuch": 1})
