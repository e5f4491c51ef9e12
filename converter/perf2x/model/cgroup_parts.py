"""Finds container ids and the UIDs of Kubernetes pods in cgroup paths, which container runtimes choose.

::

    /kubepods/burstable/podUID/ID                                     Kubernetes with the cgroupfs driver
    /kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope     with the systemd driver (CRI-O: crio-ID.scope)
    /docker/ID, /system.slice/docker-ID.scope                         Docker without Kubernetes
    /machine.slice/libpod-ID.scope                                    Podman

Source of truth: pkg/kubelet/cm/cgroup_manager_linux.go in kubernetes/kubernetes. With the systemd driver, a UID has
``_`` in place of ``-``; static pods have a digest of 32 hexadecimal digits in place of a UID. If a container runs
inside another one, as with Kubernetes in Docker, the innermost one counts. Podman's monitor process
(``libpod-conmon-ID.scope``) is outside the container.
"""

import re
from collections.abc import Iterable

_PATTERNS = {
    "container": re.compile(r"(?<![0-9a-f])(?<!conmon-)([0-9a-f]{64})(?![0-9a-f])"),
    "pod": re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])"),
}
# What users can type: ``cgroup`` for the whole path, ``container`` or ``pod`` for a part of it.
CGROUP_PARTS = ("cgroup", *_PATTERNS)
# The attribute of each part in OpenTelemetry's semantic conventions.
ATTRIBUTES = {"cgroup": "process.linux.cgroup", "container": "container.id", "pod": "k8s.pod.uid"}


def cgroup_part(part: str, path: str) -> str:
    """Return a part of a cgroup's path, one of CGROUP_PARTS; "" if the path does not have it."""
    if part not in _PATTERNS:
        return path
    found = _PATTERNS[part].findall(path)
    return found[-1].replace("_", "-") if found else ""


def needed_columns(names: Iterable[str]) -> frozenset[str]:
    """Return which of the optional columns ``cpu`` and ``cgroup`` labels or root frames with these names need."""
    return frozenset("cgroup" if name in CGROUP_PARTS else name for name in names) & {"cpu", "cgroup"}
