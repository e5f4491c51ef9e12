"""pprof files in other programs: Speedscope's importer, and Go's pprof when it demangles names again."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf2x.emitters.pprof import profile_pb2
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.emitters.speedscope import Speedscope
from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from tests.support.outputs import read_pprof

MANGLED = "_ZN7pricing11price_levelISsdEEdRNS_4BookIT_T0_EE"
FULL = "double pricing::price_level<std::string, double>(pricing::Book<std::string, double>&)"


def written(profile: Profile, **options: object) -> bytes:
    out = io.BytesIO()
    Pprof(**options).emit(profile, out)
    return out.getvalue()


def as_speedscope_shows(parsed: profile_pb2.Profile) -> list[list[str]]:
    """Stacks, outermost first: of each location its last line, as importAsPprofProfile in Speedscope 1.25.0."""
    name = {function.id: parsed.string_table[function.name] for function in parsed.function}
    last = {location.id: name[location.line[-1].function_id] for location in parsed.location}
    return [[last[one] for one in reversed(sample.location_id)] for sample in parsed.sample]


def test_speedscope_is_recommended_for_files_that_show_inlined_functions_there(builder: ProfileBuilder) -> None:
    builder.event()
    thread = builder.thread()
    builder.sample([builder.location(0x1300, lines=["inner", "outer"])], thread)
    profile = builder.build()
    assert as_speedscope_shows(read_pprof(written(profile))) == [["outer"]]
    assert Pprof().needs.viewer.endswith("for speedscope.app: --to speedscope")
    assert as_speedscope_shows(read_pprof(written(profile, inline="frames"))) == [["outer", "inner"]]
    assert Pprof(inline="frames").needs.viewer.endswith("drop it on speedscope.app")
    out = io.BytesIO()
    Speedscope().emit(profile, out)
    assert b'"inner"' in out.getvalue()


def short_names(builder: ProfileBuilder) -> Profile:
    """A frame with a short name beside its symbol, and one that nothing names."""
    builder.event("cycles", "count")
    builder.sample([builder.function("pricing::price_level<…>"), builder.location(0x1300)], builder.thread(), value=5)
    profile = builder.build()
    strings, functions = [*profile.strings, MANGLED], profile.functions
    system_name = functions.system_name.copy()
    system_name[:] = len(profile.strings)
    return replace(profile, strings=strings, functions=replace(functions, system_name=system_name))


def test_symbols_stay_beside_short_names(builder: ProfileBuilder) -> None:
    """Demangle in pprof's internal/symbolizer puts ``system_name`` in place of ``name`` where both are set."""
    parsed = read_pprof(written(short_names(builder)))
    forced = {
        parsed.string_table[function.system_name if function.name and function.system_name else function.name]
        for function in parsed.function
    }
    assert forced == {MANGLED, "[unknown]"}


def test_go_pprof_shows_full_names_where_it_does_not_look_itself(builder: ProfileBuilder, tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go tool pprof here")
    path = tmp_path / "perf.pb.gz"
    path.write_bytes(written(short_names(builder)))
    command = [go, "tool", "pprof", "-symbolize=remote:demangle=full", "-top", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert any(line.endswith(FULL) for line in lines), lines
