"""``perf2x view``: a recording as a flame graph in the browser."""

from typing import Annotated

from msgspec.structs import replace

from perf2x.cli.messages import print_messages
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, existing_inputs
from perf2x.cli.parameters import Hidden, Honouring
from perf2x.cli.progress import load_with_progress
from perf2x.emitters.flame.html import Html
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import FINISHED, LISTINGS
from perf2x.model.setting import Setting

_PANEL = "Browser"

Serve = Annotated[
    bool,
    Setting("Serve the page on this machine and print its URL; open it elsewhere through ssh -L.", panel=_PANEL),
]
Port = Annotated[
    int | None,
    Setting("Port to serve on.", metavar="N", least=0, most=65535, shown_default="a free one", panel=_PANEL),
]


def view(
    inputs: Inputs = (),
    *,
    serve: Serve = False,
    port: Port = None,
    emitter: Annotated[Html, Hidden(Html)],
    load_options: Annotated[LoadOptions, Honouring(*FINISHED, LISTINGS), Hidden(ListingOptions)],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Open a recording as a flame graph in the browser.

    With several recordings, choose on the page whether to see all together or one of them. The page goes to a
    temporary file, whose path is printed; nothing leaves the machine. On a remote machine, --serve prints a URL to open
    through ssh -L.

    ::

        perf2x view perf.data
        perf2x view perf.data --comm myserver
        perf2x view perf.data --serve --port 8000
    """
    from perf2x.cli.render.summary import quality_lines
    from perf2x.cli.view.recording_pages import Page, file_name, make_page, pages_of_all_and_each
    from perf2x.cli.view.show_pages import open_pages, serve_pages
    from perf2x.kernel.options_for_format import options_for_format
    from perf2x.kernel.registry import notes

    if port is not None and not serve:
        raise OptionError("--port needs --serve")
    sources = existing_inputs(inputs)
    listings = load_options.of(ListingSettings).listings
    options = options_for_format(
        load_options.with_values(listings=listings and listings.on_page()), "html", emitter.needs
    )
    loaded = load_with_progress(sources, options, quiet)
    print_messages([*quality_lines(loaded, verbose), *notes(emitter, loaded.profile)], quiet)

    def page_of(source: str, name: str) -> Page:
        emitter_of_source = replace(emitter, title=emitter.title and f"{emitter.title}: {source}")
        return make_page(source, name, load_with_progress(source, options, quiet), emitter_of_source)

    page_of_all = make_page("", file_name(sources[0]), loaded, emitter)
    pages = pages_of_all_and_each(page_of_all, sources, page_of, quiet=quiet)
    if serve:
        serve_pages({"": pages[0].content, **{page.name: page.content for page in pages}}, port or 0, quiet=quiet)
    else:
        open_pages(pages, quiet=quiet)
