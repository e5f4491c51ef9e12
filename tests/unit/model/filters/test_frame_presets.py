"""The one rule of what a runtime is."""

import pytest

from perf2x.model.filters.frame_presets import is_runtime


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("__memcmp_evex_movbe", "libc.so.6"),
        ("", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("", "/lib/libc-2.31.so"),
        ("_dl_new_hash", "ld-linux-x86-64.so.2"),
        ("", "ld-musl-x86_64.so.1"),
        ("[libstdc++.so.6.0.30]", "libstdc++.so.6.0.30"),
        ("pymain_main", "libpython3.11.so.1.0"),
        ("_PyEval_EvalFrameDefault", "python3.13"),
        ("runtime.mallocgc", "server"),
        ("_start", "server"),
        ("__libc_start_main_impl", "static"),
        ("clone3", "static"),
    ],
)
def test_runtimes(name: str, thing: str) -> None:
    assert is_runtime(name, thing)


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("find_or_insert", "words"),
        ("", "/home/me/words"),
        ("", "/opt/game/libengine.so"),
        ("", "/srv/libcurl.so.4"),
        ("", "/srv/libmine.so"),
        ("", "/srv/build-libc.so/words"),
        ("handle_mm_fault", "[kernel.kallsyms]"),
        ("main", ""),
        ("start_threads", "server"),
        ("", ""),
    ],
)
def test_programs(name: str, thing: str) -> None:
    assert not is_runtime(name, thing)
