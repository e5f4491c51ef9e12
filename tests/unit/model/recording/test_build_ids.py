"""Build ids by name: whose they are."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.model.recording.build_ids import build_id_by_name, with_vdso_names
from tests.support.profile_builder import make_session
from tests.support.sideband import no_sideband

ID = b"\1" * 20


def test_the_kernel_is_named_without_its_reference_symbol() -> None:
    session = make_session(build_ids={"[kernel.kallsyms]": ID})
    assert build_id_by_name(session, "[kernel.kallsyms]_text") == ID
    assert build_id_by_name(session, "[guest.kernel.kallsyms]_text") == b""


@pytest.mark.parametrize(
    ("arch", "table", "low"),
    [("x86_64", [], "[vdso32]"), ("aarch64", [], "[vdso32]"), ("", ["[vdso32]"], "[vdso32]"), ("i686", [], "[vdso]"),
     ("armv7l", [], "[vdso]"), ("x86_64", ["[vdsox32]"], "[vdsox32]"),
     ("x86_64", ["[vdso32]", "[vdsox32]"], "[vdso32]")],
)  # fmt: skip
def test_programs_below_4_gib_have_a_vdso_of_their_own(arch, table, low) -> None:
    session = make_session(build_ids=dict.fromkeys(["[vdso]", *table], ID), arch=arch)
    mmaps = replace(
        no_sideband().mmaps,
        start=np.array([2**32, 2**32 - 4096, 0x1000], np.uint64),
        filename=DictionaryColumn.of(["[vdso]", "[vdso]", "/bin/x"]),
    )  # fmt: skip
    named = with_vdso_names(mmaps, session)
    assert list(named.filename) == ["[vdso]", low, "/bin/x"]
    # with both, the build id could be the other's
    assert build_id_by_name(session, low) == (ID if low == "[vdso]" or len(table) == 1 else b"")
