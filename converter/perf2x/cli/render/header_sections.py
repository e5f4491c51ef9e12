"""The header sections of a recording (perf calls them features) for ``perf2x info``."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from perf2x.model.number_format import plural
from perf2x.model.printable_text import one_line


def sections_as_json(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return every section by name. Formats of tracepoints are reduced to the names of tracepoints and fields."""
    sections = dict(features)
    tracing = sections.get("tracing_data")
    if isinstance(tracing, dict):
        formats = tracing.get("formats", {})
        sections["tracing_data"] = {
            **tracing,
            "formats": {event_id: _tracepoint_fields(description) for event_id, description in formats.items()},
        }
    return sections


def _tracepoint_fields(tracepoint: Mapping[str, Any]) -> dict[str, Any]:
    fields = [
        field.get("name", "") if isinstance(field, dict) else str(field) for field in tracepoint.get("fields", [])
    ]
    return {"name": f"{tracepoint.get('system', '')}:{tracepoint.get('name', '')}", "fields": fields}


def section_lines(features: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines on each section that helps to judge a recording, and a line with the names of the other sections."""
    for name, describe in _DESCRIPTIONS.items():
        value = features.get(name)
        if value:
            line = describe.format(**value) if isinstance(describe, str) else describe(value)
            yield from line.splitlines()
    others = sorted(set(features) - set(_DESCRIPTIONS) - _SHOWN_ELSEWHERE)
    if others:
        yield f"also recorded: {', '.join(others)} (--json shows them)"


def _listed(label: str, items: Iterable[str]) -> str:
    return f"{label}: {', '.join(items)}"


def _gibibytes(kibibytes: int) -> str:
    return f"{kibibytes / 1048576:.1f} GiB"


def _topology(cpus: list[Mapping[str, int]]) -> str:
    return f"cpu topology: {len({cpu['socket'] for cpu in cpus})} sockets, {len(cpus)} cpus"


def _hardware_trace(value: Mapping[str, Any]) -> str:
    cpus = value.get("cpus", [])
    models = ", ".join(sorted({f"MIDR {cpu['midr']:#x}" for cpu in cpus if "midr" in cpu}))
    return f"hardware trace: {value['name'] or value['type']}" + (
        f" of {plural(len(cpus), 'CPU')}, {models}" if cpus else ""
    )


def _android(value: Mapping[str, str]) -> str:
    texts = {key: one_line(text) for key, text in value.items()}
    lines = [
        (label, [f"{prefix} {texts[key]}".strip() for key, prefix in entries if key in texts])
        for label, entries in _ANDROID_LINES
    ]
    return "\n".join(f"{label}: {', '.join(parts)}" for label, parts in lines if parts)


# For each line: its label, and the keys of simpleperf whose values it lists, each with a prefix for the value.
_ANDROID_LINES = (
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


_SYMBOL_COUNTS = "symbols in the recording: {symbols:,} of {files:,} files"
# By section: a format string, or a function that returns one or more lines.
_DESCRIPTIONS: dict[str, str | Callable[[Any], str]] = {
    "text": lambda kind: f"kind: {kind}",  # the tool that wrote a text input
    "cpudesc": lambda cpu: f"cpu: {cpu}",
    "nrcpus": "cpus: {online} of {available} online",
    "cpu_topology": lambda value: _topology(value.get("cpus", [])),
    "total_mem": lambda kibibytes: f"memory: {_gibibytes(kibibytes)}",
    "numa_topology": lambda nodes: _listed(
        "memory nodes", (f"{node['node']} ({_gibibytes(node['total_kb'])})" for node in nodes)
    ),
    "clock_data": lambda value: _listed("clock", (f"{key} {number}" for key, number in value.items())),
    "pmu_mappings": lambda value: _listed("pmus", sorted(value)),
    "group_desc": lambda groups: _listed(
        "groups", (f"{group.get('name') or '{}'} of {group['members']} events" for group in groups)
    ),
    "compressed": "compressed: zstd level {level}, ratio {ratio}",
    "bpf_prog_info": lambda programs: f"bpf programs: {len(programs)}",
    "hardware_trace": _hardware_trace,
    "tracing_data": lambda value: _listed(
        "tracepoint formats",
        sorted(_tracepoint_fields(tracepoint)["name"] for tracepoint in value.get("formats", {}).values()),
    ),
    "simpleperf_meta_info": _android,
    "simpleperf_file": _SYMBOL_COUNTS,
    "simpleperf_file2": _SYMBOL_COUNTS,
}
_SHOWN_ELSEWHERE = {"hostname", "osrelease", "version", "arch", "cmdline", "event_desc", "build_id", "sample_time"}
