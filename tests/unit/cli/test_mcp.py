"""``perf2x mcp``, asked by the SDK's own client: the lines of the commands, of a bounded size, and nothing else."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from tests.support.command import perf2x, recording
from tests.unit.cli.diff_inputs import forged

sdk = pytest.importorskip("mcp")

from perf2x.cli.agents import agent_tools  # noqa: E402
from perf2x.cli.agents.agent_tools import AgentTools  # noqa: E402
from perf2x.cli.agents.allowed_folders import AllowedFolders  # noqa: E402
from perf2x.cli.agents.mcp_server import make_server  # noqa: E402
from perf2x.kernel.load_options import LoadOptions  # noqa: E402
from perf2x.symbolizer.symbol_options import SymbolOptions  # noqa: E402

Ask = Callable[..., str]
TOKENS = re.compile(r"\n\(about ([\d,]+) tokens\)\Z")
TOOLS = ["report", "top", "callers", "annotate", "diff", "explain", "query"]
DATA = Path(__file__).parents[1] / "features" / "annotate" / "data"
PROGRAM = DATA / "demo" / "inlines"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path / "recordings"
    below.mkdir()
    copyfile(recording("calls"), below / "calls.data")
    copyfile(DATA / "inlines.data", below / "inlines.data")
    forged(below / "before.data", [0x1010] * 100 + [0x2010] * 100)
    forged(below / "after.data", [0x1010] * 160 + [0x2010] * 120)
    return below


def client(*folders: Path, symfs: Path = DATA) -> Any:
    options = LoadOptions(symbols=SymbolOptions(symfs=symfs))
    return sdk.Client(make_server(AgentTools(AllowedFolders([*map(str, folders)]), options, (DATA,))))


@pytest.fixture
def ask(folder: Path) -> Ask:
    """Ask a new server; an error is told with its sentence behind "refused: "."""

    def call(tool: str, **given: object) -> str:
        async def talk() -> str:
            async with client(folder) as asked:
                answer = await asked.call_tool(tool, given)
            (content,) = answer.content
            return ("refused: " if answer.is_error else "") + content.text

        return asyncio.run(talk())

    return call


def without_size(answer: str) -> str:
    found = TOKENS.search(answer)
    assert found, answer
    text = answer[: found.start()]
    assert int(found[1].replace(",", "")) == -(-len(text.encode()) // 4)
    return text


def test_the_tools_only_read(folder: Path) -> None:
    async def talk() -> Any:
        async with client(folder) as asked:
            return asked.instructions, (await asked.list_tools()).tools

    instructions, tools = asyncio.run(talk())
    assert [tool.name for tool in tools] == TOOLS
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(len(tool.description) > 60 for tool in tools)
    assert "never instructions" in " ".join(instructions.split())
    assert tools[1].input_schema["properties"]["by"]["enum"] == ["function", "object", "thread"]


COMMANDS: dict[str, tuple[dict[str, object], tuple[object, ...]]] = {
    "top": ({"recording": "calls.data"}, ("top", "calls.data")),
    "top by total": (
        {"recording": "calls.data", "by": "object", "sort": "total", "limit": 2},
        ("top", "calls.data", "--by", "object", "--sort", "total", "-n", 2),
    ),
    "annotate": (
        {"recording": "inlines.data", "function": "walk"},
        ("annotate", "walk", "inlines.data", "--source-dir", DATA, "-q"),
    ),
    "diff": ({"before": "before.data", "after": "after.data"}, ("diff", "before.data", "after.data", "-q")),
    "diff of shares": (
        {"before": "before.data", "after": "after.data", "normalize": True},
        ("diff", "before.data", "after.data", "--normalize", "-q"),
    ),
    "diff per unit of work": (
        {"before": "before.data", "after": "after.data", "per": [1000, 1600], "map": {"o1.so": "o2.so"}},
        ("diff", "before.data", "after.data", "--per", "1000,1600", "--map", "o1.so=o2.so", "-q"),
    ),
    "report": ({"recording": "calls.data"}, ("report", "calls.data", "--max-bytes", agent_tools.MAX_BYTES, "-q")),
    "report of a change": (
        {"recording": "after.data", "before": "before.data"},
        ("report", "after.data", "--before", "before.data", "--max-bytes", agent_tools.MAX_BYTES, "-q"),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_is_what_the_command_prints(name: str, folder: Path, ask: Ask, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    given, words = COMMANDS[name]
    ran = perf2x(*words, "--symfs", DATA)
    assert ran.code == 0, ran.err
    said = without_size(ask(name.split()[0], **given))
    lines = [line.removeprefix("perf2x: ") for line in (ran.out + ran.err).splitlines()]
    expected = [line for line in lines if not line.startswith("left out:")]
    found = [line for line in said.splitlines() if not line.startswith("left out:")]
    assert [line.replace(f"{folder}/", "") for line in found if line] == [line for line in expected if line]
    assert len(found) > 3


def test_explain_says_what_the_command_prints(folder: Path, ask: Ask) -> None:
    copyfile(PROGRAM, folder / "program")
    ran = perf2x("explain", folder / "program", "--symfs", DATA)
    said = without_size(ask("explain", object_file="program"))
    assert ran.code == 0 and said.splitlines() == ran.out.splitlines()


@pytest.mark.slow
def test_query_says_what_the_command_prints(folder: Path, ask: Ask, monkeypatch: Any) -> None:
    pytest.importorskip("duckdb")
    from tests.support.datasets import add_recordings

    monkeypatch.chdir(folder)
    add_recordings(folder / "profiles", [folder / "calls.data"])
    sql = "SELECT count(*) AS number, sum(count) FROM samples"
    said = without_size(ask("query", dataset="profiles", sql=sql))
    assert said.splitlines() == perf2x("fleet", "query", "profiles", sql).out.splitlines()
    assert ask("query", dataset="profiles", sql="COPY samples TO 'x.csv'").startswith("refused: ")
    assert ask("query", dataset="profiles", sql=f"FROM read_text('{__file__}')").startswith("refused: ")
    assert "… 97 more rows" in ask("query", dataset="profiles", sql="FROM range(100)", limit=3)


def test_callers_are_those_of_the_report(folder: Path, ask: Ask) -> None:
    ran = perf2x("report", folder / "calls.data", "--symfs", DATA, "--format", "json", "-q")
    for row in json.loads(ran.out)["by_total"]["rows"][:2]:
        said = without_size(ask("callers", recording="calls.data", function=row["name"])).splitlines()
        mine = said[said.index(next(line for line in said if line.startswith(f"{row['name']} ({row['object']}):"))) :]
        assert f"total {row['total'] / 1e6:.2f} ms" in mine[0]
        for line, caller in zip(mine[2:], row["callers"], strict=False):
            cells = line.split()
            assert cells[-1] == (caller["name"] or "caller")
            assert f"{100 * caller['value'] / row['total']:.1f} %" in line


@pytest.mark.parametrize(
    "name", ["../out.data", "/etc/passwd", "link.data", "links/out.data", "/", "..", "a\0b", "x" * 5000, "loop", ""]
)
def test_a_file_elsewhere_is_refused(name: str, folder: Path, ask: Ask) -> None:
    outside = folder.parent / "out.data"
    copyfile(recording("calls"), outside)
    (folder / "link.data").symlink_to(outside)
    (folder / "links").symlink_to(folder.parent)
    (folder / "loop").symlink_to(folder / "loop")
    for tool, given in (
        ("top", {"recording": name}),
        ("report", {"recording": "calls.data", "before": name or ".."}),
        ("diff", {"before": "calls.data", "after": name}),
        ("explain", {"object_file": name}),
        ("query", {"dataset": name, "sql": "FROM samples"}),
    ):
        said = ask(tool, **given)
        assert said.startswith("refused: ") and said.count("\n") == 0 and len(said) < 1000, said
        if name not in ("", "loop"):  # which lead nowhere
            assert "not below" in said, said


def test_a_folder_that_leads_out_is_refused(folder: Path, ask: Ask) -> None:
    made = folder / "made.data"
    (made / "below").mkdir(parents=True)
    (made / "below" / "data").symlink_to("/etc/passwd")
    assert "data leads out of the allowed folders" in ask("top", recording="made.data")
    assert "data leads out of the allowed folders" in ask("query", dataset="made.data", sql="FROM samples")


def test_links_that_stay_inside_are_fine(folder: Path, ask: Ask) -> None:
    (folder / "latest.data").symlink_to("calls.data")
    assert ask("top", recording="latest.data") == ask("top", recording=str(folder / "calls.data"))


def test_a_pipe_does_not_hang(folder: Path, ask: Ask) -> None:
    os.mkfifo(folder / "pipe.data")
    assert ask("top", recording="pipe.data").endswith("pipe.data: there is no such file")


def test_what_cannot_be_answered_is_one_sentence(folder: Path, ask: Ask) -> None:
    (folder / "evil\x1b[2J\n.data").write_bytes(b"PERFILE2" + bytes(2000))
    (folder / "cut.data").write_bytes((folder / "calls.data").read_bytes()[:200])
    for tool, given, words in (
        ("top", {"recording": "missing.data"}, "missing.data: there is no such file"),
        ("top", {"recording": "evil\x1b[2J\n.data"}, "evil"),
        ("report", {"recording": "cut.data"}, "cut.data"),
        ("top", {"recording": "calls.data", "limit": 100_000}, "limit=100000: it must be from 1 to 200"),
        ("callers", {"recording": "calls.data", "function": "nothing"}, "no function 'nothing'"),
        ("annotate", {"recording": "calls.data", "function": "nothing"}, "no function 'nothing'"),
        ("explain", {"object_file": "calls.data"}, "calls.data"),
        ("query", {"dataset": "calls.data", "sql": "FROM samples"}, "there is no such folder"),
    ):
        said = ask(tool, **given)
        assert said.startswith("refused: ") and words in said, said
        assert said.isprintable() and "Traceback" not in said, said


def test_callers_of_very_many_functions_are_not_asked_for(ask: Ask, monkeypatch: Any) -> None:
    monkeypatch.setattr(agent_tools, "_MAX_FUNCTIONS", 2)
    said = ask("callers", recording="inlines.data", function="*")
    assert re.fullmatch(r"refused: .*: \*: it matches \d+ functions, more than 2", said), said


def test_answers_are_bounded(ask: Ask, monkeypatch: Any) -> None:
    monkeypatch.setattr(agent_tools, "MAX_BYTES", 8_000)
    assert len(ask("report", recording="calls.data").encode()) <= 8_100
    monkeypatch.setattr(agent_tools, "MAX_BYTES", 300)
    for tool in ("top", "annotate"):
        more = {"function": "*"} if tool == "annotate" else {}
        said = ask(tool, recording="inlines.data", **more)
        assert "more lines, left out to stay below 300 bytes" in said and len(said.encode()) < 400


def test_a_changed_recording_is_read_again(folder: Path, ask: Ask) -> None:
    async def talk() -> list[str]:
        async with client(folder) as asked:
            answers = []
            for source in ("before.data", "after.data"):
                copyfile(folder / source, folder / "now.data")
                answers.append((await asked.call_tool("top", {"recording": "now.data"})).content[0].text)
            return answers

    first, second = asyncio.run(talk())
    assert "200 samples" in first and "280 samples" in second


@pytest.mark.slow
def test_the_command_speaks_on_its_standard_streams(folder: Path) -> None:
    words = ["-m", "perf2x", "mcp", str(folder), "--symfs", str(DATA)]

    async def talk() -> str:
        server = sdk.StdioServerParameters(command=sys.executable, args=words)
        async with sdk.Client(sdk.stdio_client(server)) as asked:
            answer = await asked.call_tool("top", {"recording": "calls.data", "limit": 1})
            return str(answer.content[0].text)

    assert "335 samples" in asyncio.run(talk())


def test_a_folder_must_exist(tmp_path: Path) -> None:
    ran = perf2x("mcp", tmp_path / "missing")
    assert (ran.code, ran.err) == (2, f"perf2x: {tmp_path}/missing: there is no such folder\n")


def test_without_the_sdk_it_says_what_to_install(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    ran = perf2x("mcp", folder)
    assert (ran.code, ran.err) == (
        2, "perf2x: perf2x mcp needs the SDK of the protocol: pip install 'perf2x[mcp]'\n"
    )  # fmt: skip
