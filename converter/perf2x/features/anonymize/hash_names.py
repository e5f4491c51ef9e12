"""Replaces names by hashes, which reveal only whether two names are equal.

The user's secret salts the hashes, so that nobody else can hash guesses.
"""

import hashlib
import hmac
import re
from collections.abc import Set

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi.tracepoint_systems import KERNEL_SYSTEMS
from perf2x.base.columnar import (
    I32,
    StringTableBuilder,
    arange,
    as_int32,
    falses,
    flatnonzero,
    repeat,
    searchsorted,
    unique,
    unique_inverse,
)
from perf2x.model.profile import Meta, Profile
from perf2x.model.recording import is_tracepoint, parse_event_name

# names of mappings that are the same on every machine
_PUBLIC_MAPPING = re.compile(
    r"\[(kernel|guest|vdso|vsyscall|stack|heap|unknown|user stack|truncated|no |corrupt|caller)[^\]]*\](_s?text)?"
)
_KERNEL_SYSTEMS = frozenset(KERNEL_SYSTEMS.split())


def anonymized(profile: Profile, salt: str) -> Profile:
    """Hash names of threads, files, functions, cgroups and the user's probes; renumber process and thread ids.

    Host name, kernel release, command line, comments, time of day and build ids are removed. Functions of the kernel
    itself, addresses, relative times, values and labels (``--tag``) stay.
    """
    strings, public_functions = StringTableBuilder(), _public_functions(profile)
    functions, mappings, threads, samples = profile.functions, profile.mappings, profile.threads, profile.samples

    def hashed(column: I32, prefix: str, public_rows: Set[int] = frozenset()) -> I32:
        names = [profile.strings[number] for number in column.tolist()]
        return strings.add_all(
            hashed_name(name, prefix, salt) if name and row not in public_rows else name
            for row, name in enumerate(names)
        )

    names, system_names = (hashed(column, "f", public_functions) for column in (functions.name, functions.system_name))
    if samples.cgroup is not None:
        cgroups, row = unique_inverse(samples.cgroup)
        samples = replace(samples, cgroup=hashed(cgroups, "cgroup")[row])
    return replace(
        profile,
        events=tuple(
            replace(event, name=hashed_name(event.name, "event", salt)) if _is_user_defined(event.name) else event
            for event in profile.events
        ),
        threads=replace(
            threads,
            pid=_renumbered(threads.pid),
            tid=_renumbered(threads.tid),
            comm=hashed(threads.comm, "thread"),
            process=hashed(threads.process, "thread"),
        ),
        mappings=replace(
            mappings,
            filename=hashed(mappings.filename, "object"),
            build_id=np.zeros(len(mappings), np.int32),
            pid=as_int32(np.where(mappings.pid >= 0, 0, mappings.pid)),
        ),
        functions=replace(
            functions,
            name=names,
            system_name=system_names,
            filename=hashed(functions.filename, "file"),
        ),
        samples=samples,
        strings=strings.table(),
        full_names={},
        meta=Meta(
            start_ns=profile.meta.start_ns, duration_ns=profile.meta.duration_ns, arch=profile.meta.arch,
            perf_version=profile.meta.perf_version, cpus=profile.meta.cpus, source="anonymized",
            clock_id=profile.meta.clock_id,
        ),
    )  # fmt: skip


def hashed_name(name: str, prefix: str, salt: str) -> str:
    """Hash one name, to ``prefix-1a2b3c4d5e``; names of mappings that are the same on every machine stay."""
    if prefix == "object" and _PUBLIC_MAPPING.fullmatch(name):
        return name
    digest = hmac.new(salt.encode(), name.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
    return f"{prefix}-{digest[:10]}"


def _public_functions(profile: Profile) -> set[int]:
    """Functions keep their names if all their locations are synthetic, or in the kernel itself.

    Functions of modules and BPF programs reveal what the machine runs.
    """
    files = [profile.strings[number] for number in profile.mappings.filename.tolist()]
    is_kernel_file = np.array([file.startswith(("[kernel", "[guest.kernel")) for file in files] + [False], np.bool_)
    location_of_line = repeat(arange(len(profile.locations)), np.diff(profile.locations.line_offsets))
    mapping = profile.locations.mapping[location_of_line]
    is_public = is_kernel_file[mapping] | profile.locations.synthetic[location_of_line]
    is_hashed = falses(len(profile.functions))
    is_hashed[profile.locations.line_function[~is_public]] = True
    return set(flatnonzero(~is_hashed).tolist())


def _is_user_defined(name: str) -> bool:
    """The name of a probe (``perf probe``) reveals a program, unlike those of the kernel's own tracepoints."""
    # breakpoints are mem:0x…, libpfm's events skx::INST_RETIRED:ANY
    if not is_tracepoint(name) or "::" in name or name.startswith("mem:0x"):
        return False
    return parse_event_name(name).event.partition(":")[0] not in _KERNEL_SYSTEMS


def _renumbered(ids: I32) -> I32:
    """0 (idle) and −1 (unknown) stay."""
    distinct = unique(ids[ids > 0])
    return as_int32(np.where(ids > 0, searchsorted(distinct, ids) + 1, ids))
