"""Functions stand in the order of their texts, whoever named them first, and those that no frame needs are left out."""

from perf2x.symbolizer.symbolize import in_function_order
from tests.support.profile_builder import lines_of, make_profile


def test_functions_are_sorted_and_unused_ones_dropped() -> None:
    from msgspec.structs import replace

    profile = make_profile([], [], synthetic=["zeta", "alpha", "mid"])
    used = replace(profile.locations, line_function=profile.locations.line_function[[0, 1, 1]])
    profile = replace(profile, locations=used)
    before = [lines_of(profile, row) for row in range(3)]
    result = in_function_order(profile, 1)
    result.check()
    assert [lines_of(result, row) for row in range(3)] == before
    names = [result.strings[row] for row in result.functions.name.tolist()]
    assert names == sorted({name for row in before for name, _, _ in row})
    assert result.strings[0] == "" and set(result.strings) == {"", *names}
