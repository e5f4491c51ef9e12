"""Containers and Kubernetes pods of samples, from the cgroup paths that container runtimes choose.

::

    /kubepods/burstable/podUID/ID                                                     cgroupfs, of containerd and Docker
    /kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope                     systemd; CRI-O: crio-ID.scope
    /docker/ID, /system.slice/docker-ID.scope, /machine.slice/libpod-ID.scope         without Kubernetes

Source of truth: pkg/kubelet/cm/cgroup_manager_linux.go in kubernetes/kubernetes. With systemd, a UID has ``_`` in place
of ``-``; static pods have a digest of 32 digits in place of a UID. If a container is in another, as with Kubernetes in
Docker, the innermost one counts; the monitor of a container (``libpod-conmon-ID.scope``) is outside the container.
"""

import re
from collections.abc import Iterable

_PATTERNS = {
    "container": re.compile(r"(?<![0-9a-f])(?<!conmon-)([0-9a-f]{64})(?![0-9a-f])"),
    "pod": re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])"),
}
CGROUP_PARTS = ("cgroup", *_PATTERNS)
"""Names that users type: the path, and what it contains."""
ATTRIBUTES = {"cgroup": "process.linux.cgroup", "container": "container.id", "pod": "k8s.pod.uid"}
"""Names in OpenTelemetry's semantic conventions."""


def cgroup_part(part: str, path: str) -> str:
    """Return a part of a cgroup's path; empty if it has none."""
    if part not in _PATTERNS:
        return path
    found = _PATTERNS[part].findall(path)
    return found[-1].replace("_", "-") if found else ""


def columns_of(names: Iterable[str]) -> frozenset[str]:
    """Return the columns of samples that labels and root frames need."""
    return frozenset("cgroup" if name in CGROUP_PARTS else name for name in names) & {"cpu", "cgroup"}
