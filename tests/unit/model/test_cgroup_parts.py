"""Containers and pods in cgroup paths, and where they are shown."""

import io

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.emitters.collapsed import Collapsed
from perf2x.emitters.otlp.otlp import Otlp
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.model.cgroup_parts import cgroup_part, cpu_and_cgroup_columns
from perf2x.model.filters.filter_options import Grouping
from perf2x.model.profile import Profile
from perf2x.model.transforms.group_samples import grouped
from perf2x.testing import ProfileBuilder
from tests.unit.emitters.otlp.test_otlp import written
from tests.unit.emitters.pprof.test_pprof import labels, message

A, B = "0123456789abcdef" * 4, "fedcba9876543210" * 4
UID = "11111111-2222-3333-4444-555555555555"
SYSTEMD = UID.replace("-", "_")


@pytest.mark.parametrize(
    ("path", "container", "pod"),
    [
        (f"/kubepods/burstable/pod{UID}/{A}", A, UID),
        (f"/kubepods.slice/kubepods-burstable-pod{SYSTEMD}.slice/cri-containerd-{A}.scope", A, UID),
        (f"/kubepods.slice/kubepods-pod{SYSTEMD}.slice/crio-{A}.scope/container", A, UID),
        (f"/kubepods.slice/kubepods-pod{SYSTEMD}.slice/crio-conmon-{A}.scope", "", UID),
        (f"/kubepods/burstable/pod{A[:32]}/{B}", B, A[:32]),
        (f"/docker/{A}", A, ""),
        (f"/system.slice/docker-{A}.scope", A, ""),
        (f"/machine.slice/libpod-{A}.scope/container", A, ""),
        (f"/machine.slice/libpod-conmon-{A}.scope", "", ""),
        (f"/docker/{A}/kubelet/kubepods/pod{UID}/{B}", B, UID),
        (f"/user.slice/{A}0/pod{UID}0", "", ""),
        ("/user.slice/podman-1234.scope", "", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_runtimes_choose_paths(path: str, container: str, pod: str) -> None:
    assert (cgroup_part("container", path), cgroup_part("pod", path)) == (container, pod)
    assert cgroup_part("cgroup", path) == path


@pytest.fixture
def profile() -> Profile:
    """Two samples in the containers of a pod, and one outside."""
    builder = ProfileBuilder()
    builder.event()
    for number in range(3):
        builder.sample([builder.function(f"work{number}")], builder.thread("app", number + 1))
    made = builder.build(timeline=True)
    paths = (f"/kubepods/pod{UID}/{A}", f"/kubepods/pod{UID}/{B}", "/user.slice")
    samples = replace(made.samples, cgroup=np.arange(3, dtype=np.int32) + len(made.strings))
    return replace(made, strings=(*made.strings, *paths), samples=samples)


def test_pprof_and_otlp_have_the_names_of_opentelemetry(profile: Profile) -> None:
    found = labels(message(profile, label=("container", "pod")))
    assert found == [{"container.id": A, "k8s.pod.uid": UID}, {"container.id": B, "k8s.pod.uid": UID}, {}]
    (one,) = written(profile, label=("container", "pod"))
    assert [dict(sample.attributes) for sample in one.samples] == found


def test_root_frames(profile: Profile) -> None:
    out = io.BytesIO()
    Collapsed().emit(grouped(profile, Grouping(root="pod")), out)
    assert {line.split(b";")[0].decode() for line in out.getvalue().splitlines()} == {UID, "?"}


def test_labels_and_roots_ask_for_the_path() -> None:
    assert Pprof(label=("container", "tid")).needs.columns == Otlp(label=("pod",)).needs.columns == {"cgroup"}
    assert cpu_and_cgroup_columns(["pod", "cpu", "thread"]) == {"cgroup", "cpu"}
