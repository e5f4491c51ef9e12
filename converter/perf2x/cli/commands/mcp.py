"""``perf2x mcp``: answers questions of language models about recordings."""

from importlib.resources import files
from typing import Annotated

from perf2x.cli.parameters import Honouring, Only
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import FINISHED, LISTINGS
from perf2x.model.setting import Argument, Setting
from perf2x.symbolizer.symbol_options import SymbolOptions

Folders = Annotated[tuple[str, ...], Argument("Folders of recordings, objects and datasets to read.", metavar="FOLDER")]
Skill = Annotated[bool, Setting("Print a skill file for coding agents that run commands themselves, and end.")]


def mcp(
    folders: Folders = (),
    *,
    skill: Skill = False,
    load_options: Annotated[
        LoadOptions, Honouring(*FINISHED, LISTINGS), Only(SymbolOptions, "max_unpacked", "source_dirs")
    ],
) -> None:
    """Answer questions about recordings over the Model Context Protocol on standard input and output.

    Its tools are report, top, callers, annotate, diff, explain and query. A question can name only recordings, objects
    and datasets inside the folders; nothing is changed. Needs the extra mcp.

    ::

        perf2x mcp recordings/
        perf2x mcp recordings/ build/ --source-dir src
        perf2x mcp --skill > .claude/skills/perf2x/SKILL.md
    """
    if skill:
        print(files("perf2x.cli.agents").joinpath("SKILL.md").read_text(encoding="utf-8"), end="")
        return
    if not folders:
        raise OptionError("name the folders with the recordings: perf2x mcp FOLDER")
    from perf2x.cli.agents.agent_tools import AgentTools
    from perf2x.cli.agents.allowed_folders import AllowedFolders
    from perf2x.cli.agents.mcp_server import make_server

    tools = AgentTools(
        AllowedFolders(folders),
        load_options,
        (load_options.of(ListingSettings).listings or ListingOptions()).source_dirs,
    )
    make_server(tools).run()
