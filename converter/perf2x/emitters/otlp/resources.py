"""Attributes of the machine that was recorded, and of what users say about it."""

from collections.abc import Mapping

from perf2x.model.profile.profile import Meta, Profile

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i386": "x86", "i586": "x86", "i686": "x86", "armv7l": "arm32"}
"""``host.arch`` of the semantic conventions; others keep the kernel's name."""


def resource_attributes(profile: Profile, tags: Mapping[str, str]) -> dict[str, str]:
    """Return facts of the recording and, over them, the labels of all inputs and of this one (``--tag``)."""
    return {**_facts(profile.meta), **profile.labels, **tags}


def _facts(meta: Meta) -> dict[str, str]:
    known = {
        "host.name": meta.hostname,
        "host.arch": _ARCHITECTURES.get(meta.arch, meta.arch),
        "os.type": "linux",
        "os.version": meta.os_release,
    }
    return {key: value for key, value in known.items() if value}
