"""Help, versions and what the shell sees before any recording is opened."""

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from perf2x import __version__
from perf2x.cli.app import HELP_LINES, entry_points
from perf2x.cli.app import command as load
from perf2x.cli.help import CONTEXT_SETTINGS
from tests.support.command import perf2x, recording, spellings


def run_and_say(words: list[str], said: str, first: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own; ``said``, of ``new`` modules, goes to standard error."""
    code = (
        f"import sys; before = {{*sys.modules}}; import gc; {first}\nfrom perf2x.cli import main\n"
        f"sys.argv = {['perf2x', *words]!r}\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        f"new = sys.modules.keys() - before\nsys.exit({said} or 0)"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("words", "more"), [(["--help"], "msgspec"), (["convert", "--help"], "numpy")])
def test_help_imports_nothing_heavy(words: list[str], more: str) -> None:
    heavy = {"numpy", "google", "elftools", "pydantic", "rich", more}
    ran = run_and_say(words, f"' '.join({heavy!r} & new)")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert all(command in ran.stdout for command in (words[:1] if words[1:] else HELP_LINES))


@pytest.mark.parametrize("command", sorted(HELP_LINES.keys() - {"script", "view"}))  # two formats' own options
def test_help_of_a_command_imports_no_numpy(command: str) -> None:
    ran = run_and_say([command, "--help"], "'numpy' in new")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator alone is told to keep memory")
def test_numpy_is_imported_before_memory_is_kept() -> None:
    """Behind it the import takes 3,000 pages more."""
    code = "import sys; from perf2x.base.files.operating_system import keep_freed_memory as keep; keep()"
    assert (
        subprocess.run([sys.executable, "-c", f"{code}; sys.exit('numpy' not in sys.modules)"], check=False).returncode
        == 0
    )


def test_a_conversion_imports_only_what_it_uses_and_collects_hardly_any_garbage(tmp_path: Path) -> None:
    unused = {
        "rich",
        "google",
        "elftools",
        "pydantic",
        "hashlib",
        "perf2x.tools.explain",
        "urllib.request",
        "ssl",
        "tomllib",
        "numpy.ma",
        "tarfile",
        "gzip",
        "backports.zstd",
        "multiprocessing",
        "importlib.metadata",
        "email",
        "perf2x.cli.render.stats_json",
        "perf2x.kernel.merge_reports",
        "perf2x.reader.joined_session",
        "perf2x.reader.records.tracepoint_decoder",
        "perf2x.base.binaries.dwarf.compilation_units",
        "perf2x.symbolizer.sources.parse_jitdump",
        "perf2x.symbolizer.demangle.short_cxx_names",
        "perf2x.symbolizer.demangle.rust_names",
        "demangle",
        "pycxxfilt",
        "perf2x.stitcher.unwind.unwinder",
        "perf2x.cli.commands.top",
        "perf2x.emitters.chrome.chrome",
    }
    words = ["convert", recording("calls"), "-o", str(tmp_path / "out.folded"), "-q"]
    said = "' '.join([str(sum(one['collections'] for one in gc.get_stats())), *sorted(new)])"
    ran = run_and_say(words, said)
    collections, *used = ran.stderr.split()
    assert int(collections) < 20
    assert not unused & {*used}
    of_typer = {"typer", "typing_extensions", "annotated_doc", "shellingham"}
    packages = {name.partition(".")[0] for name in used} - sys.stdlib_module_names
    assert packages - {"cython_runtime", "_missing_stdlib_info"} <= {"perf2x", "numpy", "msgspec", *of_typer}


def test_a_table_imports_only_what_it_uses() -> None:
    unused = {"statistics", "html", "hashlib", "google", "elftools", "pydantic", "numpy.ma", "tarfile"}
    for command in ("top", "info"):
        ran = run_and_say([command, recording("calls")], f"' '.join({unused!r} & new)")
        assert ran.returncode == 0, ran.stderr.splitlines()[-1]


def test_a_command_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys; from perf2x.cli.app import app\n"
        "app(['info', '--help'], standalone_mode=False)\n"
        "sys.exit(' '.join(name for name in sys.modules if name.startswith('perf2x.cli.commands.')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr == "perf2x.cli.commands.info\n"


@pytest.mark.parametrize("command", HELP_LINES)
def test_every_command_shows_its_help(command: str) -> None:
    ran = perf2x(command, "--help")
    assert ran.code == 0
    assert f"perf2x {command}" in ran.out


@pytest.mark.parametrize("command", HELP_LINES)
@pytest.mark.parametrize("columns", [80, 120, 300])
def test_help_fits_the_terminal_and_names_are_whole(command: str, columns: int) -> None:
    out = perf2x(command, "--help", env={"COLUMNS": str(columns)}).out
    assert all(len(line) <= columns for line in out.partition("\nExamples:")[0].splitlines())
    assert "None" not in out
    rest = perf2x(command, "--help-all" if "--help-all" in out else "--help", env={"COLUMNS": str(columns)}).out
    shown = [spelling for spelling, (option, _) in spellings(load(command)).items() if not option.hidden]
    assert not [spelling for spelling in shown if f"--{spelling}" not in rest]


@pytest.mark.parametrize("command", HELP_LINES)
def test_help_ends_with_examples_that_are_commands(command: str) -> None:
    shown = [
        line.strip() for line in perf2x(command, "--help", env={"COLUMNS": "120"}).out.splitlines() if line.strip()
    ]
    examples = shown[shown.index("Examples:") + 1 :]
    assert 2 <= len(examples) <= 3
    for line in examples:
        shown_words = shlex.split(line.partition(" |")[0].partition(" >")[0])
        program, name, words = shown_words[0], command.split(), shown_words[1 + len(command.split()) :]
        assert (program, shown_words[1 : 1 + len(name)]) == ("perf2x", name)
        with load(command).make_context(command, words, resilient_parsing=False):
            pass


@pytest.mark.parametrize("command", HELP_LINES)
def test_help_shows_few_options(command: str) -> None:
    made = load(command)
    parameters = made.get_params(made.context_class(made, **CONTEXT_SETTINGS))
    shown = [one for one in parameters if one.name not in made.rare_parameters]
    assert len([one for one in shown if one.param_type_name == "option" and not one.hidden]) <= 20


def test_help_of_convert_is_short() -> None:
    short, whole = (perf2x("convert", word, env={"COLUMNS": "100"}).out for word in ("--help", "--help-all"))
    assert len(short.splitlines()) < 60 < len(whole.splitlines())
    assert "--fail-if" not in short and "--fail-if" in whole


def test_the_list_of_commands_agrees_with_their_help() -> None:
    assert set(HELP_LINES) == set(entry_points())
    for name, line in HELP_LINES.items():
        assert (load(name).help or "").startswith(line.removesuffix("."))


def test_help_shows_defaults() -> None:
    out = " ".join(perf2x("diff", "--help", env={"COLUMNS": "200"}).out.split())
    for words in ("0: all. [default: 20; x>=0]", "Kind of the rows. [default: function]"):
        assert words in out
    assert "[default: inline]" in " ".join(perf2x("diff", "--help-all", env={"COLUMNS": "200"}).out.split())
    assert "(perf.data)" in perf2x("convert", "--help").out


def test_help_shows_brackets_as_they_are() -> None:
    out = perf2x("convert", "-t", "collapsed", "--help-all").out
    assert "[libc.so.6]" in out
    assert "_[k]" in out


def test_version() -> None:
    assert perf2x("--version").out == f"perf2x {__version__}\n"


def test_an_unknown_option_is_a_usage_error() -> None:
    ran = perf2x("convert", "--kernl-suffix")
    assert ran.code == 2
    assert "there is no option" in ran.said and "--kernel-suffix" in ran.said
    assert ran.out == ""


def test_the_help_of_symfs_names_the_directories_it_does_not_read() -> None:
    helped = " ".join(perf2x("top", "--help-all", env={"COLUMNS": "300", "NO_COLOR": "1"}).out.split())
    assert "~/.debug and /usr/lib/debug of this machine are not read" in helped
    assert "[default: (~/.debug; with --symfs: DIR/.debug)]" in helped


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize(("env", "bold"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_headings_of_help_are_bold_on_a_terminal_unless_switched_off(env: dict[str, str], bold: bool) -> None:
    import pty

    main_end, terminal = pty.openpty()
    words = [sys.executable, "-c", "from perf2x.cli import main; main()", "convert", "--help"]
    with subprocess.Popen(words, stdout=terminal, env={**os.environ, "TERM": "xterm", **env}) as process:
        os.close(terminal)
        seen = b""
        with contextlib.suppress(OSError):  # EIO: the other end was closed
            while part := os.read(main_end, 1 << 16):
                seen += part
    assert process.returncode == 0
    headings = [b"\r\nOutput:\r\n", b"\r\nExamples:\r\n"]
    strong = [b"\r\n\x1b[1mOutput\x1b[0m:\r\n", b"\r\n\x1b[1mExamples\x1b[0m:\r\n"]
    assert all(heading in seen for heading in (strong if bold else headings))
    assert seen.count(b"\x1b") == (2 * seen.count(b"\x1b[1m") if bold else 0)


def test_help_in_a_file_has_no_escape_sequence() -> None:
    assert "\x1b" not in perf2x("convert", "--help").out
