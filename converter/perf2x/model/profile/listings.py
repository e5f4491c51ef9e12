"""Listings: source lines and instructions of some functions with their costs, from ``features/annotate`` to viewers.

Costs are rows of numbers, one for each measure of the listings: ``self`` belongs to samples taken there, ``total`` to
samples with it anywhere in the stack, once for each stack.
"""

from msgspec import field

from perf2x.base.columnar import U64, Frozen

Costs = tuple[int, ...]
"""(measures,)"""


class Measure(Frozen):
    """A number that is added up."""

    event: int
    """Row of Profile.events."""
    value: str
    """``period`` or ``samples``."""
    unit: str


class LineCost(Frozen):
    """Cost of a source line; ``number`` 0: of instructions that debug info gives no line."""

    number: int
    own: Costs
    total: Costs


class SourceListing(Frozen):
    """Lines of one source file that one function has costs in."""

    path: str
    """As recorded; "" where no file is known."""
    lines: tuple[LineCost, ...]
    """By number."""
    text: dict[int, str]
    """Lines by number, those around the ones with costs included; empty where the file was not read."""
    reason: str
    """The reason why there is no text; "" if there is."""


class InstructionCost(Frozen):
    """An instruction with its cost."""

    address: int
    """As stated in the object; of kernels as recorded."""
    text: str
    note: str
    """The place that a jump or call leads to, or the data that it reads: ``main+0x10``; "" if unknown."""
    target: int
    """Row in the same listing that a jump leads to, −1 for none."""
    path: str
    line: int
    """0 where unknown."""
    function: str
    """The innermost function, which is not the listing's where one was inlined; "" if unknown."""
    is_own: bool
    """Its samples are the function's own, not those of a function inlined into it."""
    own: Costs
    total: Costs


class CodeListing(Frozen):
    """Code of a function at one place: its own, or a copy of it inlined into another one."""

    object: str
    symbol: str
    """Function that the code is linked as."""
    start: int
    rows: tuple[InstructionCost, ...]
    """Rising addresses; gaps are code of other functions."""
    reason: str
    """The reason why there are no rows; "" if there are."""


class FunctionListing(Frozen):
    """A function as tables name it."""

    name: str
    object: str
    """Base name of the object."""
    own: Costs
    total: Costs
    sources: tuple[SourceListing, ...] = ()
    """Highest cost first."""
    code: tuple[CodeListing, ...] = ()
    """Likewise."""
    places: int = 0
    """Places in all; more than in ``code`` where a function is inlined often."""
    text: dict[str, dict[int, str]] = field(default_factory=dict)
    """Source lines of instructions by path and number, where they were read."""


class Listings(Frozen):
    """Listings of the functions that were asked for, in the order of their costs."""

    measures: tuple[Measure, ...]
    functions: tuple[FunctionListing, ...]
    instructions: U64 | None = None
    """(locations,) address of the instruction that each location is in, as stated in its object, 0 where unknown;
    None unless it is asked for."""
