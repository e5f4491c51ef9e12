"""What every test shares: failures in the helpers explain themselves, and hypothesis repeats its examples."""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.register_assert_rewrite("tests.support", "tests.laws")

settings.register_profile(
    "perf2x",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("unshrunk", settings.get_profile("perf2x"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "perf2x"))
