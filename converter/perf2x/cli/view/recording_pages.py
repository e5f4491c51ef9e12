"""Makes the pages of ``perf2x view``: one for all recordings and, if there are several, one for each."""

import html
import io
import re
from collections.abc import Callable, Iterator, Sequence

from perf2x.base.files.atomic import default_output
from perf2x.base.frozen_struct import Frozen
from perf2x.cli.messages import print_message
from perf2x.errors import Perf2xError
from perf2x.kernel.load_result import Loaded
from perf2x.kernel.registry import Emitter
from perf2x.model.printable_text import printable

# Maximum number of recordings with a page each; every recording is read a second time for its page.
_MAX_PAGES = 20
# Entries are inserted after this tag of a page.
_LIST_TAG = b'<select id="recording">'
_TITLE_OF_ALL = "All together"


class Page(Frozen):
    """One HTML page."""

    title: str
    """Its entry in the list of recordings."""
    name: str
    """Its file name, to which the other pages link."""
    content: bytes


def file_name(source: str) -> str:
    """Return a file name for the page of a recording, from its path or URL."""
    return re.sub(r"[^\w.+-]+", "_", default_output(source, ".html"))


def make_page(title: str, name: str, loaded: Loaded, emitter: Emitter) -> Page:
    """Return the page of a loaded recording."""
    out = io.BytesIO()
    emitter.emit(loaded.profile, out)
    return Page(title, name, out.getvalue())


def pages_of_all_and_each(
    page_of_all: Page, sources: Sequence[str], make_page_of: Callable[[str, str], Page], *, quiet: bool
) -> list[Page]:
    """Return the page of all recordings and, if there are several, but not too many, a page of each."""
    if len(sources) > _MAX_PAGES and not quiet:
        print_message(
            f"{len(sources):,} recordings are shown together; only up to {_MAX_PAGES} can be chosen one by one"
        )
    if not 1 < len(sources) <= _MAX_PAGES:
        return [page_of_all]
    pages = [Page(_TITLE_OF_ALL, page_of_all.name, page_of_all.content)]
    for number, source in enumerate(sources, 1):
        try:
            pages.append(make_page_of(source, f"{number}-{file_name(source)}"))
        except Perf2xError as error:
            print_message(f"{source} cannot be chosen: {error}")
    return list(_with_lists(pages))


def _with_lists(pages: Sequence[Page]) -> Iterator[Page]:
    for page in pages:
        options = "".join(
            f'<option value="{html.escape(entry.name)}"{" selected" * (entry is page)}>'
            f"{html.escape(printable(entry.title))}</option>"
            for entry in pages
        )
        yield Page(page.title, page.name, page.content.replace(_LIST_TAG, _LIST_TAG + options.encode(), 1))
