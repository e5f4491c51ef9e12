"""Containers and Kubernetes pods of samples, from the cgroup paths that container runtimes choose.

::

    /kubepods/burstable/podUID/ID                                     Kubernetes with the cgroupfs driver
    /kubepods.slice/kubepods-podUID.slice/cri-containerd-ID.scope     with the systemd driver (CRI-O: crio-ID.scope)
    /docker/ID, /system.slice/docker-ID.scope                         Docker without Kubernetes
    /machine.slice/libpod-ID.scope                                    Podman

Source of truth: pkg/kubelet/cm/cgroup_manager_linux.go in kubernetes/kubernetes. With the systemd driver, a UID has
``_`` in place of ``-``; static pods have a digest of 32 digits in place of a UID. If a container is in another, as with
Kubernetes in Docker, the innermost one counts. The process that monitors a container (``libpod-conmon-ID.scope``) is
outside the container.
"""

import re
from collections.abc import Iterable

_PATTERNS = {
    "container": re.compile(r"(?<![0-9a-f])(?<!conmon-)([0-9a-f]{64})(?![0-9a-f])"),
    "pod": re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])"),
}
# What users can type: ``cgroup`` for the whole path, or a part of it, ``container`` or ``pod``.
CGROUP_PARTS = ("cgroup", *_PATTERNS)
# The attribute of each part in OpenTelemetry's semantic conventions.
ATTRIBUTES = {"cgroup": "process.linux.cgroup", "container": "container.id", "pod": "k8s.pod.uid"}


def cgroup_part(part: str, path: str) -> str:
    """Return the container id, the pod UID or the whole of a cgroup's path; "" if the path has no such part."""
    if part not in _PATTERNS:
        return path
    found = _PATTERNS[part].findall(path)
    return found[-1].replace("_", "-") if found else ""


def needed_columns(names: Iterable[str]) -> frozenset[str]:
    """Return which of the optional columns ``cpu`` and ``cgroup`` the labels or root frames ``names`` need."""
    return frozenset("cgroup" if name in CGROUP_PARTS else name for name in names) & {"cpu", "cgroup"}
