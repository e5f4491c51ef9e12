"""The library as type checkers see it; checked by mypy and pyright, never run.

Both complain when an ignored line is right after all, so each ``type: ignore`` pins an error.
"""
# pyright: strict

import dataclasses
from pathlib import Path
from typing import assert_type

import numpy as np
import numpy.typing as npt

import perf2x
from perf2x import (
    ArrowTable,
    DiffTable,
    Filters,
    Grouping,
    Loaded,
    SampleTable,
    SymbolOptions,
    TopTable,
    convert,
    diff,
    read,
    sample_table,
    to_arrow,
    top,
    write,
)
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.plugins import View, build_emitter

loaded = read("perf.data", timeline=True, events=("cycles",), filters=Filters(comms=("nginx*",)), jobs=0)
assert_type(loaded, Loaded)
assert_type(loaded.profile, View)
assert_type(loaded.samples, int)
assert_type(loaded.recorded_samples, int)
assert_type(loaded.events[0].unit, str)
assert_type(loaded.profile.samples.value, npt.NDArray[np.int64])
assert_type(loaded.profile.samples.time, npt.NDArray[np.uint64] | None)
assert_type(read([Path("a.data"), Path("b.data")], symbols=None, deferred_missing="drop", off_cpu="merged"), Loaded)

table = sample_table(loaded.profile)
assert_type(table, SampleTable)
assert_type(table["value"], npt.NDArray[np.int64])
assert_type(table["stack"], npt.NDArray[np.object_])
if "time" in table:
    assert_type(table["time"], npt.NDArray[np.uint64])

assert_type(to_arrow(loaded.profile), ArrowTable)
assert_type(to_arrow(loaded.profile).__arrow_c_stream__(), object)
changed = dataclasses.replace(loaded.profile, default_event=0)
assert_type(changed, View)
write(changed, Path("out.pb.gz"))
write(changed, "out", to="collapsed", settings={"value": "samples"})
assert_type(
    convert("perf.data", "out.html", symbols=SymbolOptions(inline=False), grouping=Grouping(root="comm")), Loaded
)

convert("perf.data", "out", to=build_emitter("of-a-plugin", {"its": "own"}))
convert("perf.data", "out", to=Pprof(label=("pid", "cpu"), inline="frames"))
convert("perf.data", "out.pb.gz", settings={"label": ("pid", "cpu"), "compress": False})

hottest = top("perf.data", by="object", sort="total", value="latency", filters=Filters(comms=("nginx*",)))
assert_type(hottest, TopTable)
assert_type(hottest.rows[0].self, int)
assert_type(top(loaded), TopTable)
assert_type(hottest.to_arrow(), ArrowTable)
changes = diff("before.data", loaded, normalize=True, events=("cycles",))
assert_type(changes, DiffTable)
diff("before.data", "after.data", per=(1000, 1200.5), map={"app-1.0": "app-1.1"})
Pprof(inline="some")  # type: ignore[arg-type]
diff("before.data", "after.data", per="1000,1200")  # type: ignore[arg-type]
assert_type(changes.rows[0].significant("self"), bool)

convert("perf.data", "out", to="pproff")  # type: ignore[arg-type]
write(changed, "out", to="pproff")  # type: ignore[arg-type]
top("perf.data", by="functions")  # type: ignore[arg-type]
top("perf.data", value="cycles")  # type: ignore[arg-type]
top("perf.data", latency="beside")  # type: ignore[call-arg]
diff("before.data", "after.data", limits=3)  # type: ignore[call-arg]
read("perf.data", timelime=True)  # type: ignore[call-arg]
convert("perf.data", "out.html", timelime=True)  # type: ignore[call-arg]
read("perf.data", timeline="yes")  # type: ignore[arg-type]
read("perf.data", off_cpu="mixed")  # type: ignore[arg-type]
read("perf.data", symbols=True)  # type: ignore[arg-type]
write(loaded, "out.pb.gz")  # type: ignore[arg-type]
_ = loaded.sample  # type: ignore[attr-defined]
_ = perf2x.nothing  # type: ignore[attr-defined]
_ = table["functions"]  # type: ignore[typeddict-item]
Filters(comm="nginx")  # type: ignore[call-arg]
