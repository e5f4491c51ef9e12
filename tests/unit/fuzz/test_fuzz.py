"""The fuzzer itself: it makes the same cases again, it notices trouble, and a few of its cases end well."""

import gzip
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from random import Random

import pytest

from tests.fuzz import datasets
from tests.fuzz.cases import FORMATS, INGEST, Case, case, commands
from tests.fuzz.minimise import minimised
from tests.fuzz.mutations import BINARY, RECORDING, TEXT, mutated, records_of
from tests.fuzz.seeds import Seed, seeds
from tests.fuzz.verdict import verdict
from tests.fuzz.worker import CRASHED, REFUSED, Result, run

RunCase = Callable[[Case, float], Result]
FINE = Result(0, b"", "", 0.1, 1 << 20, {})


@pytest.fixture(scope="module")
def whole() -> list[Seed]:
    return seeds()


@pytest.fixture(scope="module")
def run_apart() -> Iterator[RunCase]:
    """Run cases in forks of another process: what has once written a dataset cannot fork to write another."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield lambda case, seconds: pool.submit(
            run, replace(case, seed=replace(case.seed, mutations=())), seconds
        ).result()


def test_the_same_seed_gives_the_same_case(whole: list[Seed]) -> None:
    once, again, other = case(whole, 1, 5), case(whole, 1, 5), case(whole, 2, 5)
    assert (once.data, once.words) == (again.data, again.words)
    assert (once.data, once.words) != (other.data, other.words)


@pytest.mark.parametrize("mutations", [RECORDING, BINARY, TEXT])
def test_every_mutation_changes_something(whole: list[Seed], mutations: tuple) -> None:  # type: ignore[type-arg]
    data = next(seed for seed in whole if seed.kind == "forged").data
    for mutation in mutations:
        tries = [bytearray(data) for _ in range(20)]
        for number, copy in enumerate(tries):
            mutation(copy, Random(number))
        assert any(copy != data for copy in tries), mutation


def test_records_are_found_in_files_and_pipes(whole: list[Seed]) -> None:
    for seed in whole:
        if seed.kind == "forged" and seed.name in ("file", "pipe", "big-endian file"):
            assert len(records_of(seed.data)) > 50, seed.name


@pytest.mark.parametrize(
    ("result", "trouble"),
    [
        (FINE, None),
        (replace(FINE, seconds=99.0), "hang"),
        (
            replace(FINE, code=CRASHED, err='File "/x/perf2x/a.py", line 7\nValueError: x'),
            "traceback: ValueError: x at",
        ),
        (replace(FINE, code=-11), "signal 11"),
        (replace(FINE, code=9), "exit code 9"),
        (replace(FINE, memory=2 << 30), "memory"),
        (replace(FINE, code=1), "silent failure"),
        (replace(FINE, out=b"\x1b[2J"), "control character"),
        (replace(FINE, out=b"x" * 30_000, err="y" * 30_000), "long message"),
        (replace(FINE, code=1, err="no", files={"x": b""}), "output of a failed command"),
        (replace(FINE, files={"scratch/x": b""}), "temporary file left"),
    ],
)
def test_what_counts_as_trouble(whole: list[Seed], result: Result, trouble: str | None) -> None:
    found = verdict(Case(whole[0], whole[0].data, ("top",)), result, 10.0)
    assert found == trouble or (found is not None and trouble is not None and found.startswith(trouble))


QUICK = {"pprof", "html", "perfetto", "collapsed", "bolt"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FORMATS]
)
def test_a_cut_output_is_trouble(whole: list[Seed], name: str) -> None:
    program = next(seed for seed in whole if seed.name == "frames_debug")
    seed = program if name in ("bolt", "autofdo", "gcov") else whole[0]  # these need the program
    tried = Case(seed, seed.data, ("convert", "--to", name, "-o", "{dir}/out/x"))
    good = run(tried, 30.0)
    assert verdict(tried, good, 30.0) is None, good.err
    file = max(good.files)
    cut = replace(good, files=good.files | {file: good.files[file][:-4]})
    assert (verdict(tried, cut, 30.0) or "").startswith(f"unreadable {name}")
    assert verdict(tried, replace(good, files={}), 30.0) == "no output"


def test_the_page_of_view_is_all_that_it_leaves(whole: list[Seed]) -> None:
    tried = Case(whole[0], whole[0].data, ("view",))
    good = run(tried, 30.0)
    assert (good.code, verdict(tried, good, 30.0)) == (0, None), good.err
    (page,) = (name for name in good.files if name.endswith(".html"))
    cut = replace(good, files=good.files | {page: good.files[page][:-10]})
    assert verdict(tried, cut, 30.0) == "unreadable view: ValueError cut"
    assert verdict(tried, replace(good, files=good.files | {"scratch/x": b""}), 30.0) == "temporary file left"
    assert verdict(tried, replace(good, files={}), 30.0) == "no page"
    assert verdict(tried, replace(good, out=b"elsewhere.html"), 30.0) == "the page's path is not printed"
    assert verdict(tried, replace(good, code=1, err="no"), 30.0) == "temporary file left"


def test_temporary_files_are_measured(whole: list[Seed]) -> None:
    """Everything that a wrapper unpacks to or a server sends counts, whether the command keeps it or not."""
    wrapped = next(seed for seed in whole if (seed.kind, seed.name) == ("wrapper", "gz"))
    plain = gzip.decompress(wrapped.data)
    assert run(Case(wrapped, wrapped.data, ("info",)), 30.0).temporary == len(plain)
    assert run(Case(whole[0], whole[0].data, ("dump",)), 30.0).temporary == 0


def test_debuginfod_answers_with_the_damaged_bytes(whole: list[Seed]) -> None:
    served = {seed.name: seed for seed in whole if seed.kind == "debuginfod"}
    told, untold = served["frames, size told"], served["frames, size not told"]
    assert b'"name": "spin"' in run(Case(told, told.data, ("top", "--json")), 60.0).out
    for seed, failure in ((told, "debuginfod_failed"), (untold, "debuginfod_unusable")):
        result = run(Case(seed, seed.data[:50], ("info", "--json")), 60.0)
        assert (result.code, result.temporary) == (0, 50), result.err
        assert failure.encode() in result.out


def of_dataset(whole: list[Seed], kind: str) -> list[Seed]:
    found = [seed for seed in whole if seed.kind == kind]
    if not found:
        pytest.skip("pyarrow is not installed (pip install 'perf2x[fleet]')")
    return found


def test_every_mutation_of_tables_changes_something(whole: list[Seed]) -> None:
    data = of_dataset(whole, "plain dataset")[0].data
    for mutation in (*datasets.PAGES, *datasets.METADATA, datasets.column):
        tries = [bytearray(data) for _ in range(20)]
        for number, copy in enumerate(tries):
            mutation(copy, Random(number))
        assert any(copy != data for copy in tries), mutation


def test_datasets_go_through_their_commands(whole: list[Seed], run_apart: RunCase) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed (pip install 'perf2x[fleet]')")
    seed = of_dataset(whole, "dataset")[0]
    tables = {one.name for one in of_dataset(whole, "dataset")}
    assert tables >= {"samples", "stacks", "places", "recordings", "symbols"}
    for words in (datasets.COMMANDS[1], ("fleet symbolize",), ("top",)):
        tried = Case(seed, seed.data, words)
        result = run_apart(tried, 60.0)
        assert (result.code, verdict(tried, result, 60.0)) == (0, None), result.err
    assert run(Case(seed, seed.data[:50], ("top",)), 60.0).code == 1


def test_recordings_go_into_datasets(whole: list[Seed], run_apart: RunCase) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'perf2x[fleet]')")
    for data, code in ((whole[0].data, 0), (whole[0].data[:20], REFUSED)):
        tried = Case(whole[0], data, INGEST)
        result = run_apart(tried, 60.0)
        assert (result.code, verdict(tried, result, 60.0)) == (code, None), result.err
        assert any("recordings/" in name for name in result.files)


def test_a_small_input_is_left(whole: list[Seed]) -> None:
    tried = Case(whole[0], bytes(100) + b"bad!" + bytes(100), ("top",))
    small = minimised(tried, lambda shorter: b"bad!" in shorter.data)
    assert b"bad!" in small.data and len(small.data) < 20


def test_some_cases(whole: list[Seed]) -> None:
    for number in range(10):
        tried = case(whole, 3, number)
        assert verdict(tried, run(tried, 60.0), 60.0) is None, (number, tried.seed, tried.words)


def test_all_commands_are_tried(whole: list[Seed]) -> None:
    from perf2x.cli.app import HELP_LINES

    tried = {words[0] for words in commands()}
    tried |= {words[0] for words in datasets.COMMANDS}
    assert INGEST in commands()  # a worker's part of ``fleet ingest``
    assert tried >= set(HELP_LINES) - {
        "formats",
        "mcp",
        "fleet ingest",
        "web",
        "fleet rm",
        "fleet maintain",
    }
    assert len({seed.kind for seed in whole}) >= 10


def test_nothing_is_mutated_in_place(whole: list[Seed]) -> None:
    before = whole[0].data
    mutated(whole[0].data, whole[0].mutations, Random(1))
    assert whole[0].data == before
