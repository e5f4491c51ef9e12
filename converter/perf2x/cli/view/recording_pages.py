"""Pages of ``perf2x view``: one recording; or several, together and each alone, with a choice on every page."""

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

# Maximum number of recordings with a page of their own, because each is read a second time.
_MOST_ALONE = 20
_CHOICE = b'<select id="recording">'
_TOGETHER = "All together"


class Page(Frozen):
    """A page, its name in the list of recordings, and its file name, to which the others link."""

    title: str
    name: str
    content: bytes


def file_name(source: str) -> str:
    """Return a file name for the page of a source in any folder or URL."""
    return re.sub(r"[^\w.+-]+", "_", default_output(source, ".html"))


def make_page(title: str, name: str, loaded: Loaded, emitter: Emitter) -> Page:
    """Return the page of a loaded recording."""
    out = io.BytesIO()
    emitter.emit(loaded.profile, out)
    return Page(title, name, out.getvalue())


def with_each_alone(
    together: Page, sources: Sequence[str], alone: Callable[[str, str], Page], *, quiet: bool
) -> list[Page]:
    """Return the page of all recordings and, if there are several, the page that ``alone`` makes of each one.

    A recording that cannot be shown alone, for example because a filter excludes all of its samples, is not among the
    choices, and a message gives the reason.
    """
    if len(sources) > _MOST_ALONE and not quiet:
        print_message(
            f"{len(sources):,} recordings are shown together; only up to {_MOST_ALONE} can be chosen one by one"
        )
    if not 1 < len(sources) <= _MOST_ALONE:
        return [together]
    pages = [Page(_TOGETHER, together.name, together.content)]
    for number, source in enumerate(sources, 1):
        try:
            pages.append(alone(source, f"{number}-{file_name(source)}"))
        except Perf2xError as error:
            print_message(f"{source} cannot be chosen: {error}")
    return list(_with_choices(pages))


def _with_choices(pages: Sequence[Page]) -> Iterator[Page]:
    for page in pages:
        options = "".join(
            f'<option value="{html.escape(one.name)}"{" selected" * (one is page)}>{html.escape(printable(one.title))}'
            "</option>"
            for one in pages
        )
        yield Page(page.title, page.name, page.content.replace(_CHOICE, _CHOICE + options.encode(), 1))
