"""Fields of a sample that ``perf script -F`` names, and the fields that samples of each event have.

Source of truth: tools/perf/builtin-script.c (all_output_options, output[], evsel__check_attr, parse_output_fields).
"""

from collections.abc import Container, Sequence

from perf2x.base.abi import EventType, SampleType
from perf2x.errors import SettingError
from perf2x.model.recording import Event

_MEMORY = SampleType.WEIGHT | SampleType.WEIGHT_STRUCT
NEEDED = {
    "comm": 0, "tid": SampleType.TID, "pid": SampleType.TID, "time": SampleType.TIME, "cpu": SampleType.CPU,
    "misc": 0, "period": 0, "event": 0, "trace": SampleType.RAW, "addr": SampleType.ADDR,
    "data_src": SampleType.DATA_SRC, "weight": _MEMORY, "ins_lat": SampleType.WEIGHT_STRUCT,
    "retire_lat": SampleType.WEIGHT_STRUCT, "cgroup": SampleType.CGROUP, "flags": 0, "ip": SampleType.IP,
    "sym": SampleType.IP, "symoff": SampleType.IP, "dso": SampleType.IP, "dsoff": SampleType.IP,
    "srcline": SampleType.IP,
    "brstack": SampleType.BRANCH_STACK, "brstacksym": SampleType.BRANCH_STACK,
    "phys_addr": SampleType.PHYS_ADDR, "data_page_size": SampleType.DATA_PAGE_SIZE,
    "code_page_size": SampleType.CODE_PAGE_SIZE,
}  # fmt: skip
"""Fields, and the sample_type bits of which an event needs at least one."""
_BESIDE = {"symoff": "sym", "srcline": "ip"}
"""Fields that require another one."""
_USUAL = ("comm", "tid", "cpu", "time", "period", "event", "ip", "sym", "symoff", "dso")
_RAW = (*_USUAL, "addr", "data_src", "weight", "phys_addr", "data_page_size", "code_page_size", "ins_lat", "retire_lat")
_TRACED = ("comm", "tid", "cpu", "time", "event", "trace")
_KINDS = {
    "hw": EventType.HARDWARE, "sw": EventType.SOFTWARE, "trace": EventType.TRACEPOINT, "raw": EventType.RAW,
    "break": EventType.BREAKPOINT, "hw_cache": EventType.HW_CACHE,
}  # fmt: skip


def named_places(spec: str) -> frozenset[str]:
    """Return the kinds of addresses, other than stacks, that these fields may name (Needs.places)."""
    words = spec.rpartition(":")[2].split(",")
    names = {word.removeprefix("+") for word in words}
    is_bare = words[0][:1] not in ("+", "-") and not names & {"sym", "dso", "dsoff", "brstacksym"}
    kinds = {"branches": {"brstack", "brstacksym"}, "data": {"addr"}}
    return frozenset(kind for kind, fields in kinds.items() if names & fields and not is_bare)


def event_fields(events: Sequence[Event], spec: str, sampled: Container[int], *, chains: bool) -> list[frozenset[str]]:
    """Return the fields of each event; ``spec`` is the argument of ``-F``: ``ip,sym``, ``+addr,-cpu``, ``trace:comm``.

    ``chains``: call chains are printed. Raises SettingError for an unknown field, and for a requested field that
    samples of a ``sampled`` event lack.
    """
    kind, colon, names = spec.rpartition(":")
    if colon and kind not in _KINDS:
        raise _refused(f"={spec}: no kind of event {kind!r}; there are {', '.join(_KINDS)}")
    changes = _parsed(names)
    signs = {sign for sign, _ in changes}
    if "" in signs and len(signs) > 1:
        raise _refused(f"={spec}: either all fields, or all with + or -")
    found = []
    for event in events:
        applies = not colon or event.type == _KINDS[kind]
        fields = set() if applies and "" in signs else set(_default(event, chains))
        for sign, name in changes if applies else ():
            (fields.discard if sign == "-" else fields.add)(name)
        named = {name for _, name in changes} if applies and event.index in sampled else set()
        found.append(_available(event, fields, named, spec))
    return found


def _default(event: Event, chains: bool) -> tuple[str, ...]:
    if event.type == EventType.TRACEPOINT:
        has_chain = chains and event.sample_type & SampleType.CALLCHAIN
        return (*_TRACED, "ip", "sym", "symoff", "dso") if has_chain else _TRACED
    return _RAW if event.type == EventType.RAW else _USUAL


def _parsed(names: str) -> list[tuple[str, str]]:
    """Return the sign (``+``, ``-`` or nothing) and the field of each word."""
    found = []
    for word in filter(None, names.split(",")):
        sign = word[0] if word[0] in "+-" else ""
        name = word.removeprefix(sign)
        if name not in NEEDED:
            raise _refused(f"={word}: there are {', '.join(NEEDED)}")
        found.append((sign, name))
    return found


def _available(event: Event, fields: set[str], named: set[str], spec: str) -> frozenset[str]:
    """Return the fields that samples of an event have. Raises SettingError for a field in ``named`` that they lack."""
    found = {name for name in fields if not NEEDED[name] or event.sample_type & NEEDED[name]}
    if event.type != EventType.TRACEPOINT:
        found.discard("trace")
    quiet = (SampleType.RAW, SampleType.BRANCH_STACK)
    lacking = sorted(name for name in fields - found if name in named and NEEDED[name] not in quiet)
    if lacking:
        raise _refused(f"={spec}: samples of {event.name} have no {lacking[0]}")
    for name, other in _BESIDE.items():
        if name in found and other not in found:
            raise _refused(f"={spec}: {name} needs {other}")
    return frozenset(found)


def _refused(rest: str) -> SettingError:
    return SettingError("", "fields", rest)
