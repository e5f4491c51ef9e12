"""Listings: source lines and instructions of some functions with their costs, from ``features/annotate`` to viewers.

Costs are rows of numbers, one per measure of the listings: ``self`` sums samples taken at a line or instruction,
``total`` sums samples with it anywhere in the stack, counting each stack once.
"""

from msgspec import field

from perf2x.base.columnar import U64, Frozen

Costs = tuple[int, ...]
"""(measures,)"""


class Measure(Frozen):
    """A quantity that is summed."""

    event: int
    """Row of Profile.events."""
    value: str
    """``period`` or ``samples``."""
    unit: str


class LineCost(Frozen):
    """The cost of a source line; ``number`` 0: instructions without a line in debug info."""

    number: int
    own: Costs
    total: Costs


class SourceListing(Frozen):
    """The lines of one source file in which a function has costs."""

    path: str
    """As recorded; "" if unknown."""
    lines: tuple[LineCost, ...]
    """Sorted by number."""
    text: dict[int, str]
    """Text of lines by number, including those around lines with costs; empty if the file was not read."""
    reason: str
    """Why there is no text; "" if there is."""


class InstructionCost(Frozen):
    """An instruction with its cost."""

    address: int
    """Address in the object file; for kernels, as recorded."""
    text: str
    note: str
    """The target of a jump or call, or the data that it reads: ``main+0x10``; "" if unknown."""
    target: int
    """Row of the jump's target in the same listing, −1 for none."""
    path: str
    line: int
    """0 if unknown."""
    function: str
    """The innermost function, which may be one inlined into the listing's; "" if unknown."""
    is_own: bool
    """Whether its samples belong to the function itself, not to an inlined function."""
    own: Costs
    total: Costs


class CodeListing(Frozen):
    """Code of a function in one place: its own, or a copy that was inlined into another function."""

    object: str
    symbol: str
    """The linked function that contains the code."""
    start: int
    rows: tuple[InstructionCost, ...]
    """Ascending addresses; gaps are code of other functions."""
    reason: str
    """Why there are no rows; "" if there are."""


class FunctionListing(Frozen):
    """A function as named in tables."""

    name: str
    object: str
    """Base name of the object."""
    own: Costs
    total: Costs
    sources: tuple[SourceListing, ...] = ()
    """Sorted by cost, highest first."""
    code: tuple[CodeListing, ...] = ()
    """Sorted by cost, highest first."""
    places: int = 0
    """Total number of places; more than in ``code`` if a function is inlined often."""
    text: dict[str, dict[int, str]] = field(default_factory=dict)
    """Source lines of instructions by path and number, if they were read."""


class Listings(Frozen):
    """Listings of the requested functions, highest cost first."""

    measures: tuple[Measure, ...]
    functions: tuple[FunctionListing, ...]
    instructions: U64 | None = None
    """(locations,) address of each location's instruction in its object, 0 if unknown; None unless requested."""
