"""Finds container ids and the UIDs of Kubernetes pods in cgroup paths.

::

    /kubepods/burstable/podUID/ID                                     Kubernetes with the cgroupfs driver
    /kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope     with the systemd driver (CRI-O: crio-ID.scope)
    /docker/ID, /system.slice/docker-ID.scope                         Docker without Kubernetes
    /machine.slice/libpod-ID.scope                                    Podman

Source of truth: pkg/kubelet/cm/cgroup_manager_linux.go in kubernetes/kubernetes. The systemd driver writes ``_`` for
``-`` in a UID; static pods have a digest of 32 hexadecimal digits instead. The innermost container counts. Podman's
monitor process (``libpod-conmon-ID.scope``) is outside the container.
"""

import re
from collections.abc import Iterable

_PATTERNS = {
    "container": re.compile(r"(?<![0-9a-f])(?<!conmon-)([0-9a-f]{64})(?![0-9a-f])"),
    "pod": re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])"),
}
# Users can name these; ``cgroup`` is the whole path.
CGROUP_PARTS = ("cgroup", *_PATTERNS)
# Attributes in OpenTelemetry's semantic conventions.
ATTRIBUTES = {"cgroup": "process.linux.cgroup", "container": "container.id", "pod": "k8s.pod.uid"}


def cgroup_part(part: str, path: str) -> str:
    """Extract a part, one of CGROUP_PARTS, from a cgroup's path; "" if it is missing."""
    if part not in _PATTERNS:
        return path
    found = _PATTERNS[part].findall(path)
    return found[-1].replace("_", "-") if found else ""


def cpu_and_cgroup_columns(names: Iterable[str]) -> frozenset[str]:
    """Return the columns, among ``cpu`` and ``cgroup``, from which labels or root frames with these names are made."""
    return frozenset("cgroup" if name in CGROUP_PARTS else name for name in names) & {"cpu", "cgroup"}
