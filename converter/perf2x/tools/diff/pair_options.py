"""Options for the comparison of two recordings."""

from collections.abc import Sequence
from math import inf
from typing import Annotated

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.printable_text import base_name
from perf2x.model.setting import Setting

# Units of work done, before and after.
Work = tuple[float, float]


def read_object_names(setting: str, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse ``OLD=NEW`` texts to pairs of object names (after, before).

    Raises SettingError for any other text, and for an object NEW with two names OLD.
    """
    names: dict[str, str] = {}
    for text in texts:
        old, equals, new = text.partition("=")
        if not old or not new or not equals:
            raise SettingError("", setting, f" {text}: expected OLD=NEW, names of objects of BEFORE and AFTER")
        if names.setdefault(base_name(new), base_name(old)) != base_name(old):
            raise SettingError("", setting, f" {text}: {new} is given two names of BEFORE")
    return tuple(names.items())


def _read_work(setting: str, text: str) -> Work:
    try:
        before, after = map(float, text.split(","))
    except ValueError:
        raise _no_work(setting, text) from None
    return before, after


def _no_work(setting: str, text: str) -> SettingError:
    return SettingError("", setting, f" {text}: expected the units of work in BEFORE and AFTER, such as 1000,1200")


class PairOptions(Frozen):
    """Options of a comparison. At most one of ``normalize``, ``per`` and ``per_value`` may be set."""

    PANEL = "Table"

    normalize: Annotated[bool, Setting("Compare shares: scale AFTER to the total of BEFORE.")] = False
    per: Annotated[
        Work | None,
        Setting(
            "Compare costs per unit of work: how many units BEFORE and AFTER did. AFTER is scaled to BEFORE.",
            metavar="COUNT,COUNT",
            read=_read_work,
        ),
    ] = None
    per_value: Annotated[
        str,
        Setting(
            "The same per count of an event that both recorded, such as a tracepoint of requests.",
            metavar="EVENT",
            rare=True,
        ),
    ] = ""
    map: Annotated[
        tuple[tuple[str, str], ...],
        Setting(
            "Compare the object OLD of BEFORE with NEW of AFTER; repeatable. Without it, objects that differ only "
            "in name or version are matched by their functions; OLD=OLD excludes one from that.",
            metavar="OLD=NEW",
            rare=True,
            read=read_object_names,
        ),
    ] = ()
    """Pairs of object names (after, before)."""

    def __post_init__(self) -> None:
        first_way, second_way, *_ = [
            *(name for name in ("normalize", "per", "per_value") if getattr(self, name)),
            "",
            "",
        ]
        if second_way:
            raise SettingError("", first_way, " and ", second_way, " are two ways to compare; choose one")
        if self.per and not all(0 < units < inf for units in self.per):
            raise _no_work("per", ",".join(f"{units:.15g}" for units in self.per))

    def to_load(self, options: LoadOptions) -> LoadOptions:
        """Return options that also read the event ``per_value``.

        Raises SettingError if another value replaces the periods, which ``per_value`` adds up.
        """
        if self.per_value and options.value:
            replaces = f" {options.value} replaces; give "
            raise SettingError("", "per_value", " adds up periods, which ", "value", replaces, "per", " the counts")
        added = (self.per_value,) if self.per_value and options.events and not options.keep_other_events else ()
        return replace(options, events=(*options.events, *added))
