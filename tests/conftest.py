"""Set-up of all tests: isolated from the machine, with readable failures in helpers and fixed random seeds."""

import gc
import itertools
import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

gc.set_threshold(100_000)  # as the command does; cyclic garbage was a tenth of the processor time
os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"  # typer colours what it writes to a file when GITHUB_ACTIONS is set

pytest.register_assert_rewrite("tests.support", "tests.laws", "perf2x.testing")

from perf2x.base.columnar import hashing  # noqa: E402
from perf2x.testing import ProfileBuilder  # noqa: E402 - assertions in these explain themselves, too
from tests.support.collisions import other_weights  # noqa: E402
from tests.support.examples import FEW  # noqa: E402
from tests.support.isolation import at_home, isolated  # noqa: E402
from tests.support.small_parts import cut_small  # noqa: E402

settings.register_profile(
    "all",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fewer", settings.get_profile("all"), max_examples=FEW)
settings.register_profile("unshrunk", settings.get_profile("all"), phases=[Phase.explicit, Phase.generate])
seed = 1000 + int(os.environ.get("HASH_SEED", "0"))  # away from those that tests use beside it
hashing._weights = other_weights(seed)  # tables collide as they did in the last run
# Constants of the modules that are loaded so far would go into examples: others than in the last run, and each module
# is parsed for them.
_PROVIDERS = "hypothesis.internal.conjecture.providers"  # older ones lack it
if find_spec(_PROVIDERS) and hasattr(providers := import_module(_PROVIDERS), "Constants"):
    providers._get_local_constants = providers.Constants
_homes = itertools.count()
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fewer"))


def pytest_configure(config: pytest.Config) -> None:
    """Let every other process import the tests from their end: in a new clone each rewrites half of them.

    Folders that are named are not left out by ``--ignore``, so not where it is given.
    """
    is_whole = config.args == config.getini("testpaths") and not config.getoption("ignore")
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2 and is_whole:
        folders = {path.parent for path in Path(*config.args).rglob("test_*.py")}
        config.args = [str(folder) for folder in sorted(folders, reverse=True)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files, and leave the long test of the contract for formats, once for each of them, to the long ones."""
    items.sort(key=lambda item: item.path)
    for item in items:
        if item.name == "test_ten_thousand_threads":
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process whole files of quick tests, which share what they read."""
    from xdist.scheduler import LoadFileScheduling

    is_quick = config.getoption("dist") == "load" and "not slow" in config.getoption("markexpr")
    return LoadFileScheduling(config, log) if is_quick else None


@pytest.fixture(autouse=True, scope="session")
def _no_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Hide the machine from fixtures of modules and packages, too, and from every process that tests start."""
    root = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        isolated(patch, root)
        if os.environ.get("SMALL_PARTS"):
            cut_small(patch)
        yield root


@pytest.fixture(autouse=True)
def _no_other_tests(_no_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a home of its own: what one test caches no other one reads."""
    at_home(monkeypatch, _no_machine / f"home-{next(_homes)}")


@pytest.fixture
def builder() -> ProfileBuilder:
    """A profile to be filled: a clock event of 1 kHz, and thread 8 of process 7."""
    made = ProfileBuilder()
    made.event("cpu-clock", "nanoseconds", frequency=1000)
    made.thread("my prog", 7, 8, "leader")
    return made
