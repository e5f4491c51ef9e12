"""Contracts: what the tests of plugins inherit, such as ``class TestMine(EmitterContract)``. Only tests import it."""

from perf2x.tools.testing.emitter_contract import ODD_NAMES, EmitterContract
from perf2x.tools.testing.hand_made_profiles import ProfileBuilder
from perf2x.tools.testing.symbol_source_contract import SymbolSourceContract

__all__ = ["ODD_NAMES", "EmitterContract", "ProfileBuilder", "SymbolSourceContract"]
