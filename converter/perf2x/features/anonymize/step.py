"""``--anonymize``: replaces names by hashes."""

from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Phase, SessionRun
from perf2x.model.plugin_options import NAMES
from perf2x.model.setting import FeatureSettings, Setting

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded


class _Anonymity(FeatureSettings):
    """The salt of the hashes."""

    PANEL = "Grouping"
    HIDES_NAMES = "anonymize"

    anonymize: Annotated[
        str,
        Setting(
            "Hash names of programs, files, functions and threads; the same secret gives the same hashes.",
            metavar="SECRET",
            rare=True,
            group=NAMES,
        ),
    ] = ""
    """A secret salt for the hashes; empty: names stay."""


def _anonymize(loaded: "Loaded", run: SessionRun) -> "Loaded":
    """Names are also removed from the examples in diagnostics."""
    salt, symbols = run.options.of(_Anonymity).anonymize, loaded.symbols
    if not salt:
        return loaded
    from perf2x.features.anonymize.hash_names import anonymized, hashed_name
    from perf2x.model.transforms.drop_unused import compact

    for count in run.context.diagnostics.counts.values():
        count.first = ""
    if symbols is not None:
        rows = (
            replace(row, name=hashed_name(row.name, "object", salt), build_id="", reason="") for row in symbols.objects
        )
        symbols = replace(symbols, objects=tuple(rows))
    return replace(loaded, profile=anonymized(compact(loaded.profile), salt), symbols=symbols)


FEATURE = Feature({Phase.HIDDEN: _anonymize}, _Anonymity)
