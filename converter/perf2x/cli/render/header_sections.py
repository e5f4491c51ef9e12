"""Header sections of a recording for ``perf2x info``: all of them as JSON, the useful ones as lines."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from perf2x.model.number_format import plural
from perf2x.model.printable_text import one_line


def sections_as_json(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return every section by name; for tracepoint formats only names and fields, not the full text."""
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
    """Yield one line for each section that helps to judge a recording."""
    for name, describe in _DESCRIBED.items():
        value = features.get(name)
        if value:
            line = describe.format(**value) if isinstance(describe, str) else describe(value)
            yield from line.splitlines()
    others = sorted(set(features) - set(_DESCRIBED) - _SHOWN_ELSEWHERE)
    if others:
        yield f"also recorded: {', '.join(others)} (--json shows them)"


def _listed(label: str, words: Iterable[str]) -> str:
    return f"{label}: {', '.join(words)}"


def _gibibytes(kilobytes: int) -> str:
    return f"{kilobytes / 1048576:.1f} GiB"


def _topology(cpus: list[Mapping[str, int]]) -> str:
    return f"cpu topology: {len({cpu['socket'] for cpu in cpus})} sockets, {len(cpus)} cpus"


def _hardware_trace(value: Mapping[str, Any]) -> str:
    cpus = value.get("cpus", [])
    kinds = ", ".join(sorted({f"MIDR {cpu['midr']:#x}" for cpu in cpus if "midr" in cpu}))
    return f"hardware trace: {value['name'] or value['type']}" + (
        f" of {plural(len(cpus), 'CPU')}, {kinds}" if cpus else ""
    )


def _android(value: Mapping[str, str]) -> str:
    """Return lines on the phone, the app, and simpleperf's options."""
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


_SYMBOLS = "symbols in the recording: {symbols:,} of {files:,} files"
_DESCRIBED: dict[str, str | Callable[[Any], str]] = {
    "text": lambda kind: f"kind: {kind}",
    "cpudesc": lambda cpu: f"cpu: {cpu}",
    "nrcpus": "cpus: {online} of {available} online",
    "cpu_topology": lambda value: _topology(value.get("cpus", [])),
    "total_mem": lambda kilobytes: f"memory: {_gibibytes(kilobytes)}",
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
        "tracepoint formats", sorted(_tracepoint_fields(one)["name"] for one in value.get("formats", {}).values())
    ),
    "simpleperf_meta_info": _android,
    "simpleperf_file": _SYMBOLS,
    "simpleperf_file2": _SYMBOLS,
}
"""The line of each section: a format of its values, or a function of it."""
_SHOWN_ELSEWHERE = {"hostname", "osrelease", "version", "arch", "cmdline", "event_desc", "build_id", "sample_time"}
