"""Build ids by name: whose they are."""

from perf2x.model.recording.build_ids import build_id_by_name
from tests.support.profile_builder import make_session

ID = b"\1" * 20


def test_the_kernel_is_named_without_its_reference_symbol() -> None:
    session = make_session(build_ids={"[kernel.kallsyms]": ID})
    assert build_id_by_name(session, "[kernel.kallsyms]_text", 2**63) == ID
    assert build_id_by_name(session, "[guest.kernel.kallsyms]_text", 2**63) == b""


def test_programs_of_32_bits_have_another_vdso_than_perf() -> None:
    for arch, low in (("x86_64", b""), ("aarch64", b""), ("", b""), ("i686", ID), ("armv7l", ID)):
        session = make_session(build_ids={"[vdso]": ID, "/bin/x": ID}, arch=arch)
        assert build_id_by_name(session, "[vdso]", 2**32) == ID
        assert build_id_by_name(session, "[vdso]", 2**32 - 4096) == low
        assert build_id_by_name(session, "/bin/x", 0x1000) == ID
