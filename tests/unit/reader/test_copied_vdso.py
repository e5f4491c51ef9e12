"""The vDSO's build id under the name of perf's own copy."""

from perf2x.reader.session_builder import name_vdso_copies

ONE, TWO = b"\1" * 20, b"\2" * 20
COPY, OTHER_COPY = "/tmp/perf-vdso.so-pRI0U7", "/tmp/perf-vdso.so-xxxxxx"


def test_the_copy_is_named_after_what_it_copies() -> None:
    assert name_vdso_copies({"/bin/x": ONE, COPY: TWO}) == {"/bin/x": ONE, "[vdso]": TWO}
    assert name_vdso_copies({COPY: TWO, OTHER_COPY: TWO}) == {"[vdso]": TWO}


def test_copies_for_other_programs_are_named_after_theirs() -> None:
    copies = {COPY: ONE, "/tmp/perf-vdso32.so-abcdef": TWO, "/tmp/perf-vdsox32.so-abcdef": b"3"}
    assert name_vdso_copies(copies) == {"[vdso]": ONE, "[vdso32]": TWO, "[vdsox32]": b"3"}


def test_other_names_stay() -> None:
    for name in (
        "/tmp/perf-vdso.so-long-name",
        "/var/tmp/perf-vdso.so-pRI0U7",
        "/tmp/perf-vdso.so-",
        "/tmp/perf-vdso.so",
    ):
        assert name_vdso_copies({name: ONE}) == {name: ONE}


def test_a_recorded_name_wins() -> None:
    assert name_vdso_copies({"[vdso]": ONE, COPY: TWO})["[vdso]"] == ONE


def test_copies_of_different_vdsos_are_not_told_apart() -> None:
    assert name_vdso_copies({COPY: ONE, OTHER_COPY: TWO}) == {COPY: ONE, OTHER_COPY: TWO}
