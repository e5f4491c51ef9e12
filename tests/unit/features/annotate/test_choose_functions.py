"""Functions that ``annotate NAME`` chooses."""

import pytest

from perf2x.errors import SeveralFunctionsError
from perf2x.features.annotate.make_listings import choose_functions
from perf2x.model.annotate_options import ListingOptions


def test_of_functions_with_one_name_the_costliest_is_shown(builder) -> None:
    heavy, light = (
        builder.mapping(path, start) for path, start in (("/bin/heavy", 0x400000), ("/bin/light", 0x600000))
    )
    for mapping, address, name, value in (
        (heavy, 0x400010, "Queue::push", 60), (heavy, 0x400020, "Stack::push", 30),
        (light, 0x600010, "Queue::push", 10),
    ):  # fmt: skip
        builder.sample([builder.location(address, mapping, [name])], value=value)
    with pytest.raises(SeveralFunctionsError) as raised:
        choose_functions(builder.build(), ListingOptions(function="push"))
    assert list(raised.value.candidates.items()) == [("Queue::push", "60.0 %"), ("Stack::push", "30.0 %")]
