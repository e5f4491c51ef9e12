"""Listings: source lines and instructions of some functions with their costs.

``Costs`` have one number for each measure of the listings. Self costs sum the samples that were taken in a function,
line or instruction. Total costs sum the samples that have it anywhere in their stack; a sample that has it twice
counts once.
"""

from msgspec import field

from perf2x.base.columnar import U64, Frozen

# One number for each of ``Listings.measures``.
Costs = tuple[int, ...]


class Measure(Frozen):
    """A kind of cost: the sum of a value of an event's samples, or their number."""

    event: int
    """Row of Profile.events."""
    value: str
    """``period``, ``samples`` (their number), ``latency``, ``weight`` or ``mispredicts``."""
    unit: str


class LineCost(Frozen):
    """The costs of a source line."""

    number: int
    """Line number; 0 stands for all instructions without a line in debug info."""
    self_costs: Costs
    total_costs: Costs


class SourceListing(Frozen):
    """The lines of one source file in which a function has costs."""

    path: str
    """Path in debug info; "" if unknown."""
    lines: tuple[LineCost, ...]
    """Lines with costs, sorted by number."""
    text: dict[int, str]
    """Text by line number, also of lines around those with costs; empty if the file was not read."""
    reason: str
    """Why there is no text; "" if there is."""


class InstructionCost(Frozen):
    """An instruction with its costs."""

    address: int
    """Address in the object file; for kernels, as recorded."""
    text: str
    """The disassembled instruction."""
    note: str
    """Reference of the operand: the target of a jump or call, or data, as ``main+0x10``.

    "" if unknown, and for jumps within the listing.
    """
    target: int
    """Index, in ``CodeListing.rows``, of the instruction to which this one jumps; −1 if it is not in the listing."""
    path: str
    """Source file; "" if unknown."""
    line: int
    """0 if unknown."""
    function: str
    """The innermost function at the address, possibly inlined into the listed one; "" if unknown."""
    is_own: bool
    """Whether ``function`` is the listed function, whose self costs then include this instruction.

    False in code of functions that were inlined into the listed one.
    """
    self_costs: Costs
    total_costs: Costs


class CodeListing(Frozen):
    """The code of a function, or of an instance that was inlined into another function."""

    object: str
    symbol: str
    """The function in the symbol table that contains the code; "" if unknown."""
    start: int
    """The symbol's address."""
    rows: tuple[InstructionCost, ...]
    """Instructions by ascending address; gaps are code of other functions."""
    reason: str
    """Why there are no rows; "" if there are."""


class FunctionListing(Frozen):
    """The listings of one function; name and object identify it."""

    name: str
    object: str
    """Base name of the object."""
    self_costs: Costs
    total_costs: Costs
    sources: tuple[SourceListing, ...] = ()
    """Source files, highest self cost first."""
    code: tuple[CodeListing, ...] = ()
    """The copies of the function's code with the highest self costs, highest first."""
    copy_count: int = 0
    """Number of copies of the function's code; ``code`` leaves some of them out if there are many."""
    text: dict[str, dict[int, str]] = field(default_factory=dict)
    """Text of the source lines of ``code``, by path and line number; empty if no file was read."""


class Listings(Frozen):
    """Listings of the requested functions, highest cost first."""

    measures: tuple[Measure, ...]
    functions: tuple[FunctionListing, ...]
    instruction_addresses: U64 | None = None
    """(locations,) address, in the object, of the first byte of the instruction at each location; 0 if unknown.

    For a return address, this is the call instruction. None unless requested.
    """
