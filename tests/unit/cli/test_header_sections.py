"""Header sections as ``perf2x info`` shows them."""

import json
from pathlib import Path

from perf2x.cli.render.header_sections import section_lines, sections_as_json
from perf2x.reader import open_recording
from tests.support.recordings import CORPUS, ROOT


def features(path: Path) -> dict[str, object]:
    return dict(open_recording(str(path)).session.features)


def test_every_section_is_plain_json_and_some_have_lines() -> None:
    found = features(ROOT / "examples" / "deferred" / "perf.data")
    assert json.loads(json.dumps(sections_as_json(found))).keys() == found.keys()
    said = list(section_lines(found))
    assert "cpu: QEMU TCG CPU version 2.5+" in said
    assert "cpus: 2 of 2 online" in said
    assert "compressed: zstd level 1, ratio 10" in said
    assert said[-1].startswith("also recorded: bpf_btf")


def test_groups_are_listed() -> None:
    assert "groups: {anon_group} of 2 events" in list(section_lines(features(CORPUS / "group_read" / "perf.data")))


def test_tracepoints_are_listed_by_name_and_field() -> None:
    field = {"name": "pid"}
    tracing = {"formats": {"7": {"system": "sched", "name": "sched_switch", "fields": [field], "text": "…"}}}
    shown = sections_as_json({"tracing_data": tracing})["tracing_data"]["formats"]
    assert shown == {"7": {"name": "sched:sched_switch", "fields": ["pid"]}}
    assert list(section_lines({"tracing_data": tracing})) == ["tracepoint formats: sched:sched_switch"]
