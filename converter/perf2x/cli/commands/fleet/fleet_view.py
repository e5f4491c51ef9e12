"""``perf2x fleet view``: parts of a fleet in the browser."""

from typing import Annotated

import typer

from perf2x.base.errors import OptionError
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.answer_options import QueryLimits
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.upkeep_options import Folder

Port = Annotated[
    int | None,
    typer.Option("--port", metavar="N", min=0, max=65535, help="Port to serve on.", show_default="a free one"),
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the page of one part instead of serving.")
]
Part = Annotated[
    str,
    typer.Option("--part", metavar="KEY=VALUE,…", help="The part of that page: service, version, host, day, event."),
]
Compare = Annotated[
    str, typer.Option("--compare", metavar="KEY=VALUE,…", help="What differs in the part that it is compared with.")
]
Function = Annotated[
    str, typer.Option("--function", metavar="NAME", help="The function whose trend it has.", show_default="the hottest")
]


@with_groups
def fleet_view(
    dataset: Folder,
    *,
    port: Port = None,
    output: Output = None,
    part: Part = "",
    compare: Compare = "",
    function: Function = "",
    limits: QueryLimits,
    unpacking: UnpackFlags,
    quiet: Quiet = False,
) -> None:
    """Look at parts of a fleet in the browser.

    The page chooses service and version (tags of the recordings), host, day and event, and what to compare with; it
    shows a flame graph, the functions, and a function's share by day and version. It is served to this machine alone.
    """
    from perf2x.base.files.atomic import open_output
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.cli.view.view_page import serve_pages
    from perf2x.fleet.fleet_page import KEYS, FleetPages
    from perf2x.storage.dataset.dataset_address import parse_address
    from perf2x.storage.dataset.dataset_folder import fetched
    from perf2x.storage.dataset.sql.duckdb_engine import engine

    asked = _pairs("part", part, (*KEYS, "event"), "") | _pairs("compare", compare, KEYS, "before.")
    asked |= {"function": function} if function else {}
    if asked and output is None:
        raise OptionError(
            "--part, --compare and --function are of the page that -o writes; the served one asks for them"
        )
    if port is not None and output is not None:
        raise OptionError("--port serves pages; -o writes one")
    most = limits.limits()
    with limit_unpacking(unpacking.most()), fetched([dataset]) as (name,):
        address = parse_address(name)
        with engine(address.folder, "by_function", most, address.tags) as connection:
            pages = FleetPages(connection, dataset)
            if output is None:
                serve_pages({"": pages.answer}, port or 0, quiet=quiet)
                return
            page = pages.page(asked, alone=True)
    with open_output(output, inputs=()) as out:
        out.write(page)
    if not quiet and output != "-":
        print_message(f"wrote {output} (open it in any browser)")


def _pairs(option: str, text: str, keys: tuple[str, ...], before: str) -> dict[str, str]:
    found = {}
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        if key not in keys or not value:
            raise OptionError(f"--{option} {pair}: write KEY=VALUE with {', '.join(keys)}")
        found[f"{before}{key}"] = value
    return found
