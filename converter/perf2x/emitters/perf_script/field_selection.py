"""Chooses which fields of each event's samples are printed, as ``perf script -F`` does.

Source of truth: tools/perf/builtin-script.c (all_output_options, output[], evsel__check_attr, parse_output_fields).
"""

from collections.abc import Container, Sequence

from perf2x.base.abi import EventType, SampleType
from perf2x.errors import SettingError
from perf2x.model.recording import Event

_ANY_WEIGHT = SampleType.WEIGHT | SampleType.WEIGHT_STRUCT
REQUIRED_BITS = {
    "comm": 0, "tid": SampleType.TID, "pid": SampleType.TID, "time": SampleType.TIME, "cpu": SampleType.CPU,
    "misc": 0, "period": 0, "event": 0, "trace": SampleType.RAW, "addr": SampleType.ADDR,
    "data_src": SampleType.DATA_SRC, "weight": _ANY_WEIGHT, "ins_lat": SampleType.WEIGHT_STRUCT,
    "retire_lat": SampleType.WEIGHT_STRUCT, "cgroup": SampleType.CGROUP, "flags": 0, "ip": SampleType.IP,
    "sym": SampleType.IP, "symoff": SampleType.IP, "dso": SampleType.IP, "dsoff": SampleType.IP,
    "srcline": SampleType.IP,
    "brstack": SampleType.BRANCH_STACK, "brstacksym": SampleType.BRANCH_STACK,
    "phys_addr": SampleType.PHYS_ADDR, "data_page_size": SampleType.DATA_PAGE_SIZE,
    "code_page_size": SampleType.CODE_PAGE_SIZE,
}  # fmt: skip
"""{field: bits of sample_type}. An event has the field if it has at least one of the bits, or if the bits are 0."""
_REQUIRED_FIELD = {"symoff": "sym", "srcline": "ip"}
"""{field: another field, which must be printed, too}."""
# default fields, by type of event
_DEFAULT = ("comm", "tid", "cpu", "time", "period", "event", "ip", "sym", "symoff", "dso")
_DEFAULT_OF_RAW = (
    *_DEFAULT, "addr", "data_src", "weight", "phys_addr", "data_page_size", "code_page_size", "ins_lat", "retire_lat",
)  # fmt: skip
_DEFAULT_OF_TRACEPOINTS = ("comm", "tid", "cpu", "time", "event", "trace")
# types of events, as -F calls them
_TYPES = {
    "hw": EventType.HARDWARE, "sw": EventType.SOFTWARE, "trace": EventType.TRACEPOINT, "raw": EventType.RAW,
    "break": EventType.BREAKPOINT, "hw_cache": EventType.HW_CACHE,
}  # fmt: skip


def addresses_to_name(spec: str) -> frozenset[str]:
    """Return the kinds of addresses outside stacks that the fields print by name: "branches", "data".

    A full list (without + or -) names none, unless it has a field of names or objects.
    """
    words = spec.rpartition(":")[2].split(",")
    fields = {word.removeprefix("+") for word in words}
    without_names = words[0][:1] not in ("+", "-") and not fields & {"sym", "dso", "dsoff", "brstacksym"}
    fields_of_kinds = {"branches": {"brstack", "brstacksym"}, "data": {"addr"}}
    return frozenset(
        kind for kind, kind_fields in fields_of_kinds.items() if fields & kind_fields and not without_names
    )


def event_fields(
    events: Sequence[Event], spec: str, sampled_events: Container[int], *, chains: bool
) -> list[frozenset[str]]:
    """Return the fields to print of each event's samples; ``spec`` is the argument of ``-F``.

    Raises SettingError if ``spec`` is invalid, or if ``sampled_events`` (indices) lack a field that it requests.
    """
    event_type, colon, names = spec.rpartition(":")
    if colon and event_type not in _TYPES:
        raise _setting_error(f"={spec}: no kind of event {event_type!r}; there are {', '.join(_TYPES)}")
    changes = _parse_changes(names)
    signs = {sign for sign, _ in changes}
    if "" in signs and len(signs) > 1:
        raise _setting_error(f"={spec}: either all fields, or all with + or -")
    fields_of_events = []
    for event in events:
        applies = not colon or event.type == _TYPES[event_type]
        fields = set() if applies and "" in signs else set(_default_fields(event, chains))
        for sign, name in changes if applies else ():
            (fields.discard if sign == "-" else fields.add)(name)
        requested = {name for _, name in changes} if applies and event.index in sampled_events else set()
        fields_of_events.append(_available_fields(event, fields, requested, spec))
    return fields_of_events


def _default_fields(event: Event, chains: bool) -> tuple[str, ...]:
    if event.type == EventType.TRACEPOINT:
        has_chain = chains and event.sample_type & SampleType.CALLCHAIN
        return (*_DEFAULT_OF_TRACEPOINTS, "ip", "sym", "symoff", "dso") if has_chain else _DEFAULT_OF_TRACEPOINTS
    return _DEFAULT_OF_RAW if event.type == EventType.RAW else _DEFAULT


def _parse_changes(names: str) -> list[tuple[str, str]]:
    """Return sign (``+``, ``-`` or "") and field of each word. Raises SettingError for unknown fields."""
    changes = []
    for word in filter(None, names.split(",")):
        sign = word[0] if word[0] in "+-" else ""
        name = word.removeprefix(sign)
        if name not in REQUIRED_BITS:
            raise _setting_error(f"={word}: there are {', '.join(REQUIRED_BITS)}")
        changes.append((sign, name))
    return changes


def _available_fields(event: Event, fields: set[str], requested: set[str], spec: str) -> frozenset[str]:
    available = {name for name in fields if not REQUIRED_BITS[name] or event.sample_type & REQUIRED_BITS[name]}
    if event.type != EventType.TRACEPOINT:
        available.discard("trace")
    # samples may lack the data for these fields, which are then left out without an error
    optional = (SampleType.RAW, SampleType.BRANCH_STACK)
    missing = sorted(name for name in fields - available if name in requested and REQUIRED_BITS[name] not in optional)
    if missing:
        raise _setting_error(f"={spec}: samples of {event.name} have no {missing[0]}")
    for name, required in _REQUIRED_FIELD.items():
        if name in available and required not in available:
            raise _setting_error(f"={spec}: {name} needs {required}")
    return frozenset(available)


def _setting_error(text: str) -> SettingError:
    return SettingError("", "fields", text)
