"""Header sections of a recording for ``perf2x info``: all of them as JSON, the useful ones as lines."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from perf2x.model.number_format import plural
from perf2x.model.printable_text import one_line


def sections_as_json(features: Mapping[str, Any]) -> dict[str, Any]:
    """Every section by name; of tracepoint formats only names and fields, not the whole texts."""
    plain = dict(features)
    tracing = plain.get("tracing_data")
    if isinstance(tracing, dict):
        formats = tracing.get("formats", {})
        plain["tracing_data"] = {
            **tracing,
            "formats": {number: _tracepoint_fields(one) for number, one in formats.items()},
        }
    return plain


def _tracepoint_fields(described: Mapping[str, Any]) -> dict[str, Any]:
    fields = [field.get("name", "") if isinstance(field, dict) else str(field) for field in described.get("fields", [])]
    return {"name": f"{described.get('system', '')}:{described.get('name', '')}", "fields": fields}


def section_lines(features: Mapping[str, Any]) -> Iterator[str]:
    """One line per section that helps a reader to judge a recording."""
    for name, describe in _DESCRIBED.items():
        value = features.get(name)
        if value:
            yield from describe(value).splitlines()
    others = sorted(set(features) - set(_DESCRIBED) - _SHOWN_ELSEWHERE)
    if others:
        yield f"also recorded: {', '.join(others)} (--json shows them)"


def _cpu_line(value: Mapping[str, Any]) -> str:
    return f"cpus: {value['online']} of {value['available']} online"


def _topology(value: Mapping[str, Any]) -> str:
    cpus = value.get("cpus", [])
    return f"cpu topology: {len({cpu['socket'] for cpu in cpus})} sockets, {len(cpus)} cpus"


def _nodes(value: list[Mapping[str, Any]]) -> str:
    return "memory nodes: " + ", ".join(f"{node['node']} ({node['total_kb'] / 1048576:.1f} GiB)" for node in value)


def _pmus(value: Mapping[str, Any]) -> str:
    return f"pmus: {', '.join(sorted(value))}"


def _groups(value: list[Mapping[str, Any]]) -> str:
    return "groups: " + ", ".join(f"{group.get('name') or '{}'} of {group['members']} events" for group in value)


def _compression_line(value: Mapping[str, Any]) -> str:
    return f"compressed: zstd level {value['level']}, ratio {value['ratio']}"


def _programs(value: list[Any]) -> str:
    return f"bpf programs: {len(value)}"


def _hardware_trace(value: Mapping[str, Any]) -> str:
    cpus = value.get("cpus", [])
    kinds = ", ".join(sorted({f"MIDR {cpu['midr']:#x}" for cpu in cpus if "midr" in cpu}))
    return f"hardware trace: {value['name'] or value['type']}" + (
        f" of {plural(len(cpus), 'CPU')}, {kinds}" if cpus else ""
    )


def _android(value: Mapping[str, str]) -> str:
    """Lines on the phone, the app, and how simpleperf recorded it."""
    found = {key: one_line(text) for key, text in value.items()}
    lines = [
        (label, [f"{word} {found[key]}".strip() for key, word in facts if key in found]) for label, facts in _FACTS
    ]
    return "\n".join(f"{label}: {', '.join(facts)}" for label, facts in lines if facts)


_FACTS = (
    ("phone", (("product_props", ""), ("android_version", "Android"), ("android_build_fingerprint", ""))),
    ("app", (("app_package_name", ""), ("app_type", ""))),
    (
        "simpleperf",
        (
            ("simpleperf_version", ""),
            ("clockid", "clock"),
            ("trace_offcpu", "off-CPU traced"),
            ("kernel_symbols_available", "kernel symbols"),
            ("timestamp", "written at Unix time"),
            ("record_stat", ""),
        ),
    ),
)


def _recorded_symbols(value: Mapping[str, int]) -> str:
    return f"symbols in the recording: {value['symbols']:,} of {value['files']:,} files"


def _formats(value: Mapping[str, Any]) -> str:
    names = sorted(_tracepoint_fields(one)["name"] for one in value.get("formats", {}).values())
    return f"tracepoint formats: {', '.join(names)}"


_DESCRIBED: dict[str, Callable[[Any], str]] = {
    "text": lambda value: f"kind: {value}",
    "cpudesc": lambda value: f"cpu: {value}",
    "nrcpus": _cpu_line,
    "cpu_topology": _topology,
    "total_mem": lambda value: f"memory: {value / 1048576:.1f} GiB",
    "numa_topology": _nodes,
    "clock_data": lambda value: "clock: " + ", ".join(f"{key} {number}" for key, number in value.items()),
    "pmu_mappings": _pmus,
    "group_desc": _groups,
    "compressed": _compression_line,
    "bpf_prog_info": _programs,
    "hardware_trace": _hardware_trace,
    "tracing_data": _formats,
    "simpleperf_meta_info": _android,
    "simpleperf_file": _recorded_symbols,
    "simpleperf_file2": _recorded_symbols,
}
_SHOWN_ELSEWHERE = {"hostname", "osrelease", "version", "arch", "cmdline", "event_desc", "build_id", "sample_time"}
