"""``perf2x mcp``: answers questions of language models about recordings."""

from typing import Annotated

import typer

from perf2x.cli.option_groups import Only, with_groups
from perf2x.cli.options.source_options import ListingFlags
from perf2x.pipeline.load_options import LoadOptions
from perf2x.symbolizer.symbol_options import SymbolOptions

Folders = Annotated[list[str], typer.Argument(metavar="FOLDER", help="Folders with recordings; nothing else is read.")]


@with_groups
def mcp(
    folders: Folders,
    *,
    asked: Annotated[LoadOptions, Only(SymbolOptions, "max_unpacked")],
    code: Annotated[ListingFlags, Only("source_dirs")],
) -> None:
    """Answer questions about recordings, by the Model Context Protocol on standard input and output.

    Its tools are report, top, callers, annotate, diff, explain and query. They read recordings, objects and datasets
    below the folders alone, and change nothing. Needs the extra mcp.

    ::

        perf2x mcp recordings/
        perf2x mcp recordings/ build/ --source-dir src
    """
    from perf2x.cli.agents.agent_tools import AgentTools
    from perf2x.cli.agents.below_folders import BelowFolders
    from perf2x.cli.agents.mcp_server import make_server

    tools = AgentTools(BelowFolders(folders), asked, code.folders())
    make_server(tools).run()
