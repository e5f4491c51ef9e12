"""Tests that every symbol source must pass, as a base class, which plugins import from ``perf2x.testing``."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import as_uint64
from perf2x.symbolizer.sources.symbol_source import Dso, DsoKind, SymbolSource


class SymbolSourceContract:
    """Tests that every symbol source must pass. Inherit from it, and define :meth:`source`, :meth:`dso`, ``known``."""

    known: Sequence[tuple[int, str]] = ()
    """Addresses that the source resolves in :meth:`dso`, each with the displayed name of its outermost function."""

    def source(self) -> SymbolSource:
        """The source under test, made from a Context."""
        raise NotImplementedError("build the source to test")

    def dso(self) -> Dso:
        """An object that the source covers."""
        raise NotImplementedError("return an object that the source knows")

    def ask(self, addresses: Sequence[int]) -> list[list[tuple[str, str, int]]]:
        """Return, for every address, (name, file, line) of its functions, innermost first; check shapes and types.

        The name is the one to display or, if the source gives none, the mangled one.
        """
        source, queries = self.source(), as_uint64(addresses)
        symbols = source.lookup(self.dso(), queries)
        assert len(symbols.offsets) == len(queries) + 1 and symbols.offsets[0] == 0, "offsets are not one longer"
        assert not len(queries) or np.diff(symbols.offsets).min() >= 0, "offsets fall"
        assert symbols.offsets[-1] == len(symbols.function) == len(symbols.line), "offsets end wrong"
        assert symbols.function.dtype == symbols.line.dtype == np.int32, "function and line are not int32"
        assert symbols.offsets.dtype == np.int64, "offsets are not int64"
        rows = []
        for index, line in zip(symbols.function.tolist(), symbols.line.tolist(), strict=True):
            assert 0 <= index < len(symbols.functions) and line >= 0, "a row points nowhere"
            function = symbols.functions[index]
            assert function.system_name or function.name, "a function without any name"
            rows.append((function.name or function.system_name, function.filename, line))
        offsets = symbols.offsets.tolist()
        return [rows[start:end] for start, end in pairwise(offsets)]

    def test_has_a_place_in_the_order(self) -> None:
        assert isinstance(type(self.source()).order, int)

    def test_covers_answers_for_every_kind(self) -> None:
        source, covered = self.source(), self.dso()
        assert source.covers(covered) is True
        for kind in DsoKind:
            other = Dso("/nowhere/at-all", b"", kind, 1, ObjectFiles())
            assert source.covers(other) in (True, False)

    def test_no_addresses(self) -> None:
        assert self.ask([]) == []

    def test_known_addresses(self) -> None:
        assert self.known, "``known`` is empty"
        answers = self.ask([address for address, _ in sorted(self.known)])
        assert [rows[-1][0] for rows in answers] == [name for _, name in sorted(self.known)]

    def test_a_batch_is_the_sum_of_its_parts(self) -> None:
        addresses = sorted({*(address + step for address, _ in self.known for step in (0, 1)), 0, 2**64 - 1})
        assert self.ask(addresses) == [self.ask([address])[0] for address in addresses]

    def test_the_ends_of_the_address_space(self) -> None:
        assert len(self.ask([0, 1, 2**63, 2**64 - 1])) == 4
